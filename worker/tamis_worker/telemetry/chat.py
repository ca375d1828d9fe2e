"""The span of one LLM call, according to the semantic conventions for generative AI.

The span contains no prompt and no answer.

Evaluations become events (`gen_ai.evaluation.result`) of a span. Langfuse, Phoenix and Grafana Tempo receive spans with
their events, but no logs.

- **An item's decision or failure** is an event of the item's span. The event has the id of the answer that decided.
- **Metrics of an answer** are events of the span of the call that gave the answer. If the answer came from the cache,
  there was no call. The events then belong to the item's span.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tamis_producer.process import tracing
from tamis_producer.process.tracing import NO_SPAN, Attributes, Span, SpanKind, Value, quietly
from tamis_schemas import ErrorKind, Evaluation, EvaluationResult, FieldsResult, Score
from tamis_schemas.operations import OperationKind, operation_name

from ..llm.chat import ChatAnswer, ChatRequest, Reply

# Providers by the end of the host's name. Other servers with this protocol differ in `server.address`.
PROVIDERS = {
    "api.anthropic.com": "anthropic",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.perplexity.ai": "perplexity",
    "api.x.ai": "x_ai",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "openai.azure.com": "azure.ai.openai",
    "services.ai.azure.com": "azure.ai.inference",
}
PORTS = {"http": 80, "https": 443}

EVENT = "gen_ai.evaluation.result"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"  # of the conventions; decisions then have a reasoning
CAPTURING = frozenset({"true", "span_only", "event_only", "span_and_event"})


@dataclass(frozen=True)
class EndpointAddress:
    """An endpoint's provider, host and port for spans.

    Other parts of the URL are omitted, because they may contain a password.
    """

    provider: str = "openai"
    address: str | None = None
    port: int | None = None

    @classmethod
    def of(cls, url: str) -> Self:
        """Return the endpoint of a base URL. If the URL is invalid, return an address without host and port."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or PORTS.get(parts.scheme)
        except ValueError:
            return cls()
        providers = (name for end, name in PROVIDERS.items() if host and (host == end or host.endswith(f".{end}")))
        return cls(next(providers, "openai"), host, port)


UNKNOWN = EndpointAddress()


class ChatSpan:
    """The OpenTelemetry span of one LLM call. `begin` begins the span, and the end of the `with` block ends it.

    After `keep`, the span stays open for evaluations of the answer, until `end`. If there is a reply, the recorded end
    is the time of the reply.
    """

    __slots__ = ("_kept", "_replied_at", "_request", "_server", "response_id", "span")

    def __init__(self, server: EndpointAddress, request: ChatRequest) -> None:
        self._server = server
        self._request = request
        self._kept = False
        self._replied_at: int | None = None
        self.response_id: str | None = None  # the endpoint's id of the answer
        self.span = NO_SPAN

    @property
    def recording(self) -> bool:
        """True if the span is recorded."""
        return self.span.recording

    def begin(self) -> None:
        """Begin the span. Call this when the request is sent."""
        request, server = self._request, self._server
        self.span = tracing.start(f"chat {request.model}", {}, kind=SpanKind.CLIENT)
        if self.span.recording:
            self.span.set(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.provider.name": server.provider,
                    "gen_ai.request.model": request.model,
                    "gen_ai.request.max_tokens": request.max_tokens,
                    "gen_ai.request.temperature": request.temperature,
                    "gen_ai.output.type": "json",
                    "server.address": server.address,
                    "server.port": server.port,
                }
            )
        self.span.enter()

    def replied(self, reply: Reply) -> None:
        """Record the reply."""
        self.span.leave()
        if not self.span.recording:
            return
        self._replied_at = tracing.now()
        usage = reply.usage
        if usage.total_tokens:
            self.span.set(
                {
                    "gen_ai.usage.input_tokens": usage.prompt_tokens,
                    "gen_ai.usage.output_tokens": usage.completion_tokens,
                    "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
                    "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
                    "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
                }
            )
        if isinstance(reply, ChatAnswer):
            self.response_id = reply.id
            self.span.set(
                {
                    "gen_ai.response.id": reply.id,
                    "gen_ai.response.model": reply.model or None,
                    "gen_ai.response.finish_reasons": (reply.finish_reason,),
                }
            )
        else:
            self.span.set({"http.response.status_code": reply.status})
            self.span.fail(reply.kind.value)

    def unusable(self, kind: str) -> None:
        """Record that the answer is unusable."""
        self.span.fail(kind)

    def keep(self) -> Self:
        """Keep the span open after the `with` block, until `end`."""
        self._kept = True
        return self

    def event(self, name: str, attributes: tracing.Attributes) -> None:
        """Add an event about the answer, at the time of the reply."""
        self.span.event(name, attributes, self._replied_at)

    def end(self) -> None:
        """End the span. If there was a reply, the recorded end is the time of the reply."""
        self.span.leave()
        self.span.end(self._replied_at)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._kept:
            return
        if kind is not None and self._replied_at is None:
            self.span.fail(kind.__name__)
        self.end()


@quietly
def submit(evaluations: Iterable[Evaluation], to: ChatSpan | Span) -> None:
    """Add to a span an event for each evaluation that has a value. Never raises."""
    if to.recording:
        for evaluation in evaluations:
            if evaluation.value is not None:
                to.event(EVENT, attributes_of(evaluation))


@quietly
def submit_outcome(
    operation: OperationKind,
    outcome: EvaluationResult | FieldsResult | ErrorKind,
    to: ChatSpan | Span,
    response_id: str | None = None,
) -> None:
    """Add to a span an event with an item's decision, or with the kind of its failure. Never raises."""
    if to.recording:
        to.event(EVENT, outcome_attributes(operation, outcome) | {"gen_ai.response.id": response_id})


def attributes_of(evaluation: Evaluation) -> Attributes:
    """Return an evaluation as attributes that OpenTelemetry's conventions define, and our own `tamis.field`."""
    value = evaluation.value
    return {
        "gen_ai.evaluation.name": evaluation.label,
        "gen_ai.evaluation.score.value": None if isinstance(value, str) else value,
        "gen_ai.evaluation.score.label": value if isinstance(value, str) else None,
        "gen_ai.evaluation.explanation": evaluation.reason,
        "tamis.field": evaluation.field,
    }


def outcome_attributes(
    operation: OperationKind, outcome: EvaluationResult | FieldsResult | ErrorKind
) -> dict[str, Value | None]:
    """Return an item's decision or failure as attributes that OpenTelemetry's conventions define.

    For the operation `score`, the attribute `score.value` is the rated value. For other operations, it is the
    confidence. A value becomes the label only if the operation defines that value. The reasoning is included if the
    variable `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` requests it.
    """
    name = {"gen_ai.evaluation.name": operation_name(type(operation))}
    if isinstance(outcome, ErrorKind):
        return {**name, "error.type": outcome.value}
    value = outcome.value if isinstance(outcome, EvaluationResult) else None
    rated = isinstance(operation, Score) and isinstance(value, float)
    explained = os.environ.get(CAPTURE, "").strip().lower() in CAPTURING
    return {
        **name,
        "gen_ai.evaluation.score.value": value if rated else outcome.confidence,
        "gen_ai.evaluation.score.label": operation.value_label(value),
        "gen_ai.evaluation.explanation": outcome.reasoning if explained else None,
    }
