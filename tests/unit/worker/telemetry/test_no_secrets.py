"""No secret is in a span or a figure, whoever said it back."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import generate_latest

from stage.trace_receiver import traced_here
from tamis_producer.config.redaction import Redaction, forms_of
from tamis_producer.process import tracing
from tamis_schemas import ErrorKind, Usage
from tamis_worker.llm.chat import CallError, ChatAnswer, ChatRequest, Message
from tamis_worker.telemetry.chat import ChatSpan, EndpointAddress
from tamis_worker.telemetry.metrics import Metrics

KEY = "llm+key/Hn5RzT8wYp0="
PASSWORD = 'brk/Zq7@pw:Vx3"+ä9'
REDACT = Redaction([KEY, PASSWORD])


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    tracing.redact_with(REDACT)
    with traced_here(exporter):
        yield exporter
    tracing.redact_with(str)


def test_no_secret_is_in_a_span_or_a_figure(spans: InMemorySpanExporter) -> None:
    """An endpoint with a password in its URL says the key back wherever it can."""
    metrics = Metrics(redact=REDACT)
    server = EndpointAddress.of("https://tamis:hunter2-hunter2@llm.example/v1?api-key=hunter2-hunter2")
    said = sorted(forms_of(KEY) | forms_of(PASSWORD))
    for secret in said:
        request = ChatRequest("m", (Message("user", secret),), "s", {}, 0.0, 16)
        answer = ChatAnswer(secret, f"model {secret}", Usage(1, 1), secret, latency_ms=1)
        for reply in (answer, CallError(ErrorKind.SERVER, f"refused: {secret}", 500)):
            with ChatSpan(server, request) as call:
                call.begin()
                call.replied(reply)
            metrics.called(f"m {secret}", "ok", reply, None)
    told = "\n".join(span.to_json() for span in spans.get_finished_spans()) + generate_latest(metrics.registry).decode()
    assert told.count("[secret]") > len(said)
    assert "hunter2" not in told
    for secret in said:
        assert secret not in told


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("https://api.openai.com/v1", EndpointAddress("openai", "api.openai.com", 443)),
        ("http://127.0.0.1:8093/v1", EndpointAddress("openai", "127.0.0.1", 8093)),
        ("https://u:p@one.openai.azure.com/openai", EndpointAddress("azure.ai.openai", "one.openai.azure.com", 443)),
        ("https://api.mistral.ai:8443/v1", EndpointAddress("mistral_ai", "api.mistral.ai", 8443)),
        ("https://notapi.mistral.ai/v1", EndpointAddress("openai", "notapi.mistral.ai", 443)),
        ("http://[::1]:x/v1", EndpointAddress()),
        ("nonsense", EndpointAddress("openai", None, None)),
    ],
)
def test_of_an_endpoint_host_and_port_are_told_alone(url: str, server: EndpointAddress) -> None:
    assert EndpointAddress.of(url) == server
