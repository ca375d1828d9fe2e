"""Evaluations as events: on the span whose answer they rate, and harmless whatever fails."""

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from stage.faulty_telemetry import CALLS, FaultyTracer
from stage.trace_receiver import traced_here
from tamis_producer.process import tracing
from tamis_schemas import (
    Answer,
    ErrorKind,
    Evaluation,
    EvaluationResult,
    Extract,
    ExtractFields,
    FieldsResult,
    Filter,
    Inclusion,
    Judge,
    Score,
    SearchCriteria,
    Usage,
)
from tamis_schemas.operations import OperationKind, operation_name
from tamis_worker.llm.chat import ChatAnswer, ChatRequest, Message
from tamis_worker.telemetry import chat
from tamis_worker.telemetry.chat import CAPTURE, EVENT, UNKNOWN, ChatSpan, submit, submit_outcome

REQUEST = ChatRequest("m", (Message("user", "a prompt"),), "s", {}, 0.0, 16)
ANSWER = ChatAnswer("an answer", "m-2026", Usage(10, 5), "stop", latency_ms=3, id="chatcmpl-1")
# The attributes of the event in OpenTelemetry's semantic conventions for generative AI, with their types.
CONVENTIONS = {
    "gen_ai.evaluation.name": str,
    "gen_ai.evaluation.score.value": float,
    "gen_ai.evaluation.score.label": str,
    "gen_ai.evaluation.explanation": str,
    "gen_ai.response.id": str,
    "error.type": str,
}
CRITERIA = SearchCriteria(research_question="Does it work?", inclusion_criteria=["A trial"])
TEXT = "words of the record"
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


@pytest.mark.spec("4.30")
@pytest.mark.parametrize(
    ("operation", "value", "score", "label"),
    [
        (Filter(criteria="Is it a trial?"), True, 0.75, "true"),
        (Inclusion(criteria=CRITERIA), "uncertain", 0.75, "uncertain"),
        (Judge(guidelines="Only numbers count."), "weak", 0.75, "weak"),
        (Score(criteria="How good?", min_value=0, max_value=10), 7.0, 7.0, None),
        (Extract(instruction="the dose"), TEXT, 0.75, None),
        (Extract(instruction="the dose", output_type="number"), 20.0, 0.75, None),
        (Answer(instruct="Summarise.", resp_format="One sentence", eval_crit="Short"), TEXT, 0.75, None),
    ],
)
def test_a_decision_is_an_event_after_the_conventions_without_a_text_of_the_record(
    operation: OperationKind, value: Any, score: float, label: str | None, spans: InMemorySpanExporter
) -> None:
    result = EvaluationResult(value=value, confidence=0.75, reasoning=TEXT)
    with tracing.span("item", {}) as span:
        submit_outcome(operation, result, span, "chatcmpl-1")
    (event,) = events(spans.get_finished_spans()[0])
    assert all(type(told) is CONVENTIONS[name] for name, told in event.items())
    assert event["gen_ai.evaluation.name"] == operation_name(type(operation))
    assert event["gen_ai.evaluation.score.value"] == score
    assert event.get("gen_ai.evaluation.score.label") == label
    assert event["gen_ai.response.id"] == "chatcmpl-1"
    assert TEXT not in str(event)


def test_the_fields_of_a_record_are_no_part_of_their_event(spans: InMemorySpanExporter) -> None:
    operation = ExtractFields(schema={"type": "object", "properties": {"n": {"type": "string"}}}, instructions="n")
    with tracing.span("item", {}) as span:
        submit_outcome(operation, FieldsResult(fields={"n": TEXT}, confidence=0.5), span)
    assert events(spans.get_finished_spans()[0]) == [
        {"gen_ai.evaluation.name": "extract_fields", "gen_ai.evaluation.score.value": 0.5}
    ]


def test_a_failure_is_an_event_with_its_kind(spans: InMemorySpanExporter) -> None:
    with tracing.span("item", {}) as span:
        submit_outcome(Filter(criteria="?"), ErrorKind.TIMEOUT, span)
    assert events(spans.get_finished_spans()[0]) == [{"gen_ai.evaluation.name": "filter", "error.type": "timeout"}]


@pytest.mark.parametrize(
    ("captured", "explanation"), [("false", None), ("", None), ("true", TEXT), ("SPAN_ONLY", TEXT)]
)
def test_a_reasoning_is_exported_only_where_content_is_captured(
    captured: str, explanation: str | None, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE, captured)
    with tracing.span("item", {}) as span:
        submit_outcome(Filter(criteria="?"), EvaluationResult(value=True, reasoning=TEXT), span)
    (event,) = events(spans.get_finished_spans()[0])
    assert event.get("gen_ai.evaluation.explanation") == explanation


def test_without_a_recorded_span_no_event_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    for name in ("attributes_of", "outcome_attributes"):
        monkeypatch.setattr(chat, name, lambda *about: made.append(about))
    for unrecorded in (tracing.NO_SPAN, ChatSpan(UNKNOWN, REQUEST)):
        submit(EVALUATIONS, unrecorded)
        submit_outcome(Filter(criteria="?"), EvaluationResult(value=True), unrecorded)
    assert made == []
