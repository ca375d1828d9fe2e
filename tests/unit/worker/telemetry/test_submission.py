"""Evaluations as events: on the span whose answer they rate, and harmless whatever fails."""

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from stage.faulty_telemetry import CALLS, FaultyTracer
from stage.trace_receiver import traced_here
from tamis_producer.process import tracing
from tamis_schemas import Evaluation, Usage
from tamis_worker.llm.chat import ChatAnswer, ChatRequest, Message
from tamis_worker.telemetry.chat import EVENT, UNKNOWN, ChatSpan, submit

REQUEST = ChatRequest("m", (Message("user", "a prompt"),), "s", {}, 0.0, 16)
ANSWER = ChatAnswer("an answer", "m-2026", Usage(10, 5), "stop", latency_ms=3)
EVALUATIONS = (
    Evaluation(label="context_relevance", metric_type="score", value=0.85),
    Evaluation(label="semantic_validation", metric_type="categorical", value="pass", field="dose"),
    Evaluation(label="context_precision", metric_type="score", value=0.0),
    Evaluation(label="agreement_pattern", metric_type="categorical", reason="fewer than two sources"),
)


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    with traced_here(exporter):
        yield exporter


def events(span: ReadableSpan) -> list[dict[str, Any]]:
    assert all(event.name == EVENT for event in span.events)
    return [dict(event.attributes or {}) for event in span.events]


def test_each_evaluation_with_a_value_is_an_event_after_the_conventions(spans: InMemorySpanExporter) -> None:
    with tracing.span("item", {}) as span:
        submit(EVALUATIONS, span)
    assert events(spans.get_finished_spans()[0]) == [
        {"gen_ai.evaluation.name": "context_relevance", "gen_ai.evaluation.score.value": 0.85},
        {
            "gen_ai.evaluation.name": "semantic_validation",
            "gen_ai.evaluation.score.label": "pass",
            "tamis.field": "dose",
        },
        {"gen_ai.evaluation.name": "context_precision", "gen_ai.evaluation.score.value": 0.0},
    ]


def test_a_call_ends_with_its_reply_whenever_its_answer_is_rated(spans: InMemorySpanExporter) -> None:
    with ChatSpan(UNKNOWN, REQUEST) as call:
        call.begin()
        call.replied(ANSWER)
        kept = call.keep()
    assert spans.get_finished_spans() == ()
    submit(EVALUATIONS, kept)
    kept.end()
    (span,) = spans.get_finished_spans()
    assert len(span.events) == 3
    assert {event.timestamp for event in span.events} == {span.end_time}


def test_a_call_says_neither_prompt_nor_answer(spans: InMemorySpanExporter) -> None:
    with ChatSpan(UNKNOWN, REQUEST) as call:
        call.begin()
        call.replied(ANSWER)
    told = spans.get_finished_spans()[0].to_json()
    assert "m-2026" in told
    assert "a prompt" not in told
    assert "an answer" not in told


@pytest.mark.parametrize("failing", ["start_span", *CALLS])
def test_no_fault_of_the_sdk_reaches_a_call_or_a_submission(failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "tracer", FaultyTracer(failing))
    with ChatSpan(UNKNOWN, REQUEST) as call:
        call.begin()
        call.replied(ANSWER)
        call.unusable("invalid")
        submit(EVALUATIONS, call.keep())
    call.end()


def test_evaluations_that_are_none_are_no_fault_of_the_work(spans: InMemorySpanExporter) -> None:
    broken: Any = [object()]
    with tracing.span("item", {}) as span:
        submit(broken, span)
    assert spans.get_finished_spans()[0].events == ()
