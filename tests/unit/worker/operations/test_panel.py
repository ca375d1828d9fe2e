"""A panel's program: every model is asked the same question, and their words make one decision."""

from collections.abc import Callable
from typing import Any

import pytest

from programs import play
from tamis_schemas import (
    ErrorKind,
    EvaluationResult,
    Filter,
    Inclusion,
    InclusionDecision,
    InclusionStatus,
    Panel,
    SearchCriteria,
)
from tamis_schemas import UncertainReason as Uncertain
from tamis_worker import operations
from tamis_worker.operations.answer_model import Decided
from tamis_worker.operations.panel import panel_program
from tamis_worker.operations.program import Question, Unanswered

CRITERIA = SearchCriteria(
    research_question="Does it work?", inclusion_criteria=["humans"], exclusion_criteria=["case reports"]
)
RECORD = {"id": "1", "title": "A trial in adults", "abstract": "We randomised 20 adults."}
LOST = Unanswered(ErrorKind.TIMEOUT, "no answer in time")


def screened(*models: str, **more: Any) -> Inclusion:
    return Inclusion(criteria=CRITERIA, panel=Panel.model_validate({"models": models, **more}))


def said(status: str, confidence: float = 0.9, *, humans: str = "met", reports: str = "not met") -> dict[str, Any]:
    if status == "exclude":
        humans = "not met"
    quote = "We randomised 20 adults"
    return {
        "rationale": f"so it is: {status}",
        "verdicts": {"I1": {"quote": quote, "verdict": humans}, "E1": {"quote": None, "verdict": reports}},
        "status": status,
        "confidence": confidence,
    }


def by_model(answers: dict[str, object]) -> Callable[[Question[Any]], object]:
    return lambda question: answers[question.model or ""]


def test_every_model_is_asked_the_same_question_side_by_side_and_its_word_is_kept() -> None:
    answers = {"a": said("exclude", 0.8), "b": said("include", 0.9), "c": said("include", 0.7)}
    played = play(operations.program_of(screened("a", "b", "c", policy="majority"), RECORD), by_model(answers))
    (asked,) = played.rounds
    assert [question.model for question in asked] == ["a", "b", "c"]
    assert len({question.messages for question in asked}) == 1
    assert {question.sample for question in asked} == {0}  # what the cache holds of a model alone answers here, too

    evaluation = played.evaluated()
    assert evaluation.result.value == "include"  # type: ignore[union-attr]
    assert evaluation.result.confidence == pytest.approx((0.2 + 0.9 + 0.7) / 3)  # the mean of the scores for inclusion
    detail, words = evaluation.detail, evaluation.panel
    assert isinstance(detail, InclusionDecision)
    assert detail.status is InclusionStatus.INCLUDE
    assert detail.confidence == evaluation.result.confidence
    assert detail.rationale == "so it is: include"  # of b, the first that says what the panel says
    assert words is not None
    assert [(one.model, one.status, one.confidence) for one in words.verdicts] == [
        ("a", "exclude", 0.8),
        ("b", "include", 0.9),
        ("c", "include", 0.7),
    ]
    assert words.verdicts[0].exclusion_reason == "not met: humans"
    assert words.verdicts[0].verdicts["I1"].verdict == "not met"
    assert words.disagreement == pytest.approx(2 / 3)


def test_where_no_model_says_what_the_panel_does_the_decision_names_what_divides_them() -> None:
    answers = {"a": said("exclude"), "b": said("include")}
    evaluation = play(operations.program_of(screened("a", "b", policy="majority"), RECORD), by_model(answers))
    detail = evaluation.evaluated().detail
    assert isinstance(detail, InclusionDecision)
    assert (detail.status, detail.uncertain_reason) == (InclusionStatus.UNCERTAIN, Uncertain.PANEL)
    assert detail.rationale == "a: exclude 0.90; b: include 0.90"
    assert detail.criteria == ["humans"]  # they agree on the case reports
    assert detail.verdicts == {}


def test_a_model_that_failed_decides_nothing_and_the_words_of_the_others_are_kept() -> None:
    operation = screened("a", "b", "c", policy="unanimous-exclude")
    failed = play(operations.program_of(operation, RECORD), by_model({"a": said("exclude"), "b": LOST, "c": LOST}))
    assert failed.failure is not None
    assert (failed.failure.kind, failed.failure.message) == (ErrorKind.TIMEOUT, "b: no answer in time")
    assert failed.failure.panel is not None
    assert failed.failure.panel.words == "a: exclude 0.90; b: timeout; c: timeout"
    assert failed.failure.panel.verdicts[1].error == "no answer in time"

    sure = play(operations.program_of(operation, RECORD), by_model({"a": LOST, "b": said("include"), "c": LOST}))
    assert sure.evaluated().result.value == "include"  # type: ignore[union-attr]
    assert sure.evaluated().result.confidence == 0.9  # the mean over those that answered


@pytest.mark.parametrize(
    ("policy", "answers", "value", "confidence"),
    [
        ("any", (True, False, False), True, (0.9 + 0.1 + 0.1) / 3),
        ("majority", (True, False, False), False, 1 - 1.1 / 3),
        ("unanimous-exclude", (False, False, False), False, 0.9),
        ("majority", (True, False), True, 0.5),  # a tie: a filter has no third value, and nothing is lost by a tie
    ],
)
def test_a_filter_is_asked_of_a_panel_too(
    policy: str, answers: tuple[bool, ...], value: bool, confidence: float
) -> None:
    models = [f"m{n}" for n in range(len(answers))]
    operation = Filter(criteria="Is it?", panel=Panel.model_validate({"models": models, "policy": policy}))
    replies = {
        model: {"value": answer, "confidence": 0.9, "reasoning": f"{answer}"}
        for model, answer in zip(models, answers, strict=True)
    }
    evaluation = play(operations.program_of(operation, RECORD), by_model(replies)).evaluated()
    assert evaluation.result.value is value  # type: ignore[union-attr]
    assert evaluation.result.confidence == pytest.approx(confidence)
    assert evaluation.detail is None
    assert evaluation.panel is not None


@pytest.mark.parametrize(
    ("probabilities", "grades", "probability", "relevance"),
    [
        ((0.9, 0.4), (80, 61), 0.65, 70),  # (0.9 + 0.4) / 2; 70.5, to the even whole number
        ((0.9, None), (80, None), None, None),  # of one model's alone: the other's word would not count
    ],
)
def test_probability_and_grade_of_a_panel_are_the_means_over_its_models(
    probabilities: tuple[float | None, ...],
    grades: tuple[int | None, ...],
    probability: float | None,
    relevance: int | None,
) -> None:
    operation = Filter(criteria="Is it?", panel=Panel.model_validate({"models": ["a", "b"], "policy": "any"}))
    result = EvaluationResult(value=True, confidence=0.9)
    values = {
        model: Decided(result, probability=weighed, relevance=grade)
        for model, weighed, grade in zip("ab", probabilities, grades, strict=True)
    }
    question: Question[Any] = Question((), "filter", {}, parse=lambda data: data)
    assert operation.panel is not None
    evaluation = play(panel_program(operation, operation.panel, question), by_model(dict(values))).evaluated()
    assert evaluation.probability == (None if probability is None else pytest.approx(probability))
    assert evaluation.relevance == relevance
    assert evaluation.panel is not None
    assert [(one.probability, one.relevance) for one in evaluation.panel.verdicts] == list(
        zip(probabilities, grades, strict=True)
    )
