"""When traces are wanted, and how the last of them are waited for."""

import logging
import threading
import time
from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tamis_worker.telemetry.tracing import end, reporting, traced, wanted

HERE = "http://127.0.0.1:4318"


@pytest.mark.parametrize(
    ("environment", "traces"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": HERE}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": HERE}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": HERE}, False),
        ({"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": HERE}, False),
        ({"OTEL_SDK_DISABLED": "false", "OTEL_EXPORTER_OTLP_ENDPOINT": HERE}, True),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": HERE}, False),
    ],
)
def test_traces_are_wanted_where_the_environment_names_a_receiver(environment: dict[str, str], traces: bool) -> None:
    assert wanted(environment) is traces


class Provider:
    """One whose end is held up, or fails."""

    def __init__(self, error: Exception | None = None, *, hangs: bool = False) -> None:
        self.go_on = threading.Event()
        self._error = error
        self._hangs = hangs

    def shutdown(self) -> None:
        if self._hangs:
            self.go_on.wait(30)
        if self._error is not None:
            raise self._error


def test_an_end_that_hangs_is_waited_for_no_longer_than_said() -> None:
    provider = Provider(hangs=True)
    began = time.monotonic()
    assert not end(provider, within=0.05)
    assert time.monotonic() - began < 5
    provider.go_on.set()


def test_an_end_that_fails_is_an_end() -> None:
    assert end(Provider(RuntimeError("the SDK fails in shutdown")), within=10)


def test_an_exporter_that_is_not_there_is_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    done = False
    with traced("tests", environment={"OTEL_TRACES_EXPORTER": "nonsense"}):
        done = True
    assert done
    assert "tamis[telemetry]" in caplog.text


def test_without_a_receiver_nothing_is_set_up(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), traced("tests", environment={}):
        pass
    assert caplog.text == ""


def test_an_exporter_says_once_that_it_fails_and_once_that_it_works_again(caplog: pytest.LogCaptureFixture) -> None:
    class Exporter(SpanExporter):
        def __init__(self, *results: SpanExportResult | Exception) -> None:
            self.results = list(results)

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            result = self.results.pop(0)
            if isinstance(result, Exception):
                raise result
            return result

    failed, worked = SpanExportResult.FAILURE, SpanExportResult.SUCCESS
    exporter = reporting(Exporter(worked, failed, RuntimeError(), failed, worked, worked), HERE)
    for _ in range(6):
        exporter.export(())
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "does not accept them" in caplog.records[0].message
    assert "exported again" in caplog.records[1].message
