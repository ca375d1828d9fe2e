"""Spans: recorded where somebody records, and harmless whatever fails in them."""

import logging
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from stage.faulty_telemetry import CALLS, FaultyTracer
from stage.trace_receiver import traced_here
from tamis_producer.config.redaction import Redaction
from tamis_producer.process import tracing

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
UNSAMPLED = PARENT[:-2] + "00"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    with traced_here(exporter):
        yield exporter


@pytest.fixture
def no_secrets() -> Iterator[None]:
    tracing.redact_with(Redaction(["hunter2-hunter2"]))
    yield
    tracing.redact_with(str)


def test_a_span_is_the_parent_of_what_begins_in_it(spans: InMemorySpanExporter) -> None:
    with tracing.span("outer", {"a": 1, "left out": None}):
        tracing.start("inner", {}).end()
    inner, outer = spans.get_finished_spans()
    assert inner.parent is not None
    assert outer.context is not None
    assert inner.parent.span_id == outer.context.span_id
    assert outer.attributes == {"a": 1}
    assert not trace.get_current_span().get_span_context().is_valid


def test_the_parent_comes_from_the_current_span_and_else_from_the_ledger(spans: InMemorySpanExporter) -> None:
    tracing.start("late", {}, of=PARENT).end()
    with tracing.span("outer", {}):
        tracing.start("inner", {}, of=PARENT).end()
    late, inner, outer = spans.get_finished_spans()
    assert late.parent is not None
    assert inner.parent is not None
    assert outer.context is not None
    assert f"{late.parent.trace_id:032x}" in PARENT
    assert inner.parent.span_id == outer.context.span_id


def test_an_error_is_told_by_its_kind_alone(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="of a record"), tracing.span("failing", {}):
        raise ValueError("the text of a record")
    (span,) = spans.get_finished_spans()
    assert span.attributes == {"error.type": "ValueError"}
    assert not span.status.is_ok
    assert span.status.description is None
    assert span.events == ()


def test_secrets_in_attributes_and_events_are_taken_out_and_long_texts_cut(
    spans: InMemorySpanExporter, no_secrets: None
) -> None:
    with tracing.span("s", {"model": "m hunter2-hunter2", "all": ("hunter2-hunter2",), "long": "x" * 1000}) as span:
        span.event("e", {"said": "hunter2-hunter2"})
    (found,) = spans.get_finished_spans()
    assert found.attributes == {"model": "m [secret]", "all": ("[secret]",), "long": "x" * 200}
    assert found.events[0].attributes == {"said": "[secret]"}


def test_what_is_not_sampled_has_no_children_that_are(spans: InMemorySpanExporter) -> None:
    with tracing.span("not sampled", {}, of=UNSAMPLED):
        tracing.start("inner", {}).end()
        assert tracing.traceparent() is not None
    assert spans.get_finished_spans() == ()


def test_a_traceparent_is_read_back_as_it_was_written(spans: InMemorySpanExporter) -> None:
    with tracing.span("outer", {}):
        written = tracing.traceparent()
    assert written is not None
    assert tracing.context_of(written) is not None
    assert tracing.headers(written) == {"traceparent": written}
    assert tracing.headers(None) is None
    assert tracing.traceparent() is None


@given(
    st.none() | st.text() | st.integers() | st.binary() | st.lists(st.text()) | st.dictionaries(st.text(), st.text())
)
def test_whatever_stands_in_a_message_is_a_context_or_nothing(given_: object) -> None:
    assert tracing.context_of(given_) is None
    tracing.attach(given_)
    assert not trace.get_current_span().get_span_context().is_valid


@pytest.mark.parametrize(
    "garbage", [PARENT + "-x", PARENT.upper(), "00-" + "0" * 32 + PARENT[35:], PARENT * 100, "ff" + PARENT[2:]]
)
def test_a_broken_traceparent_begins_no_trace(garbage: str) -> None:
    assert tracing.context_of(garbage) is None


@pytest.mark.parametrize("failing", ["start_span", *CALLS])
def test_a_fault_in_any_call_of_the_sdk_stays_its_own(failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tracer = FaultyTracer(failing)
    monkeypatch.setattr(tracing, "tracer", tracer)
    done = []
    with tracing.span("outer", {"a": 1}, of=PARENT) as span:
        span.set({"b": 2})
        span.event("e", {"c": 3})
        span.fail("kind")
        done.append(tracing.traceparent())
    assert len(done) == 1
    assert tracer.started == 1
    assert failing == "start_span" or tracer.span.calls[failing] >= 1
    assert otel.get_current() == {}


@pytest.mark.parametrize("failing", ["start_span", *CALLS])
def test_what_the_work_raises_is_raised_all_the_same(failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "tracer", FaultyTracer(failing))
    with pytest.raises(KeyError), tracing.span("outer", {}):
        raise KeyError("of the work")


def test_a_propagator_that_raises_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Raising:
        def extract(self, *_: object) -> None:
            raise RuntimeError

        inject = extract

    monkeypatch.setattr(tracing, "_propagator", Raising())
    assert tracing.context_of(PARENT) is None
    assert tracing.traceparent() is None
    tracing.attach(PARENT)


def test_a_fault_is_logged_once_and_at_debug(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_told", set())
    monkeypatch.setattr(tracing, "tracer", FaultyTracer("end"))
    with caplog.at_level(logging.DEBUG, logger="tamis_producer.process.tracing"):
        for _ in range(3):
            tracing.start("s", {}).end()
    assert [(record.levelname, "Span.end" in record.message) for record in caplog.records] == [("DEBUG", True)]
