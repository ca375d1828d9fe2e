"""Rules and formulas are told with the numbers that the ledger keeps, and what does not follow from them is said."""

from typing import Any

import pytest

from tamis_review.explanation.document import because
from tamis_schemas import (
    Answer,
    EvaluationResult,
    Exclusion,
    Filter,
    Inclusion,
    InclusionDecision,
    ItemResult,
    ItemStatus,
    Judge,
    Operation,
    SearchCriteria,
)

SCREENING = Inclusion(
    criteria=SearchCriteria(
        research_question="q", inclusion_criteria=["Adults", "A trial"], exclusion_criteria=["Animals"]
    )
)


def quote(state: str, field: str | None = None) -> dict[str, Any]:
    return {"text": "words", "state": state, "similarity": 0.5, "field": field}


def decided(operation: Operation, own: float = 0.8, detail: object = None, **decision: Any) -> list[tuple[str, str]]:
    result = ItemResult(
        index=0,
        item_id="1",
        status=ItemStatus.DECIDED,
        item={},
        result=EvaluationResult(value="x", confidence=own),
        detail=detail,  # type: ignore[arg-type]
        decision=InclusionDecision.model_validate({"rationale": "r", **decision}) if decision else None,
    )
    return [(one.sets, one.text) for one in because(operation, result)]


VERDICTS = {
    "I1": {"verdict": "met", "quote": quote("found", "title")},
    "I2": {"verdict": "not met", "quote": quote("altered", "abstract")},
    "E1": {"verdict": "not met", "quote": quote("not found")},
}


def test_an_exclusion_names_its_criterion_and_how_its_quote_was_verified() -> None:
    told = decided(
        SCREENING, status="exclude", confidence=0.6, model_confidence=0.9, verdicts=VERDICTS, criteria=["A trial"]
    )
    assert told == [
        ("status", "status exclude: I2 not met, its quote is altered"),
        ("status", "policy for unclear criteria: include"),
        ("status", "policy for exclusions without a verified quote: refer"),
        ("confidence", "0.9 x (1 - 0.5 x 2/3) = 0.6; of 3 quotes 1 altered and 1 not found"),
    ]


def test_a_verdict_by_silence_needs_no_quote() -> None:
    silent = {**VERDICTS, "I2": {"verdict": "not met by silence", "quote": None}}
    told = decided(SCREENING, status="exclude", confidence=0.9, verdicts=silent, criteria=["A trial"])
    assert told[0] == ("status", "status exclude: I2 not met by silence, which needs no quote")


def test_an_exclusion_that_nothing_verifies_says_why_it_is_uncertain() -> None:
    told = decided(
        SCREENING,
        status="uncertain",
        confidence=0.6,
        model_status="exclude",
        uncertain_reason="no verified quote",
        verdicts=VERDICTS,
    )
    assert ("status", "the model answered exclude; changed because: no verified quote") in told


def test_a_status_that_the_verdicts_do_not_bear_is_told_beside_the_models_own() -> None:
    contradicted = {"model_status": "exclude", "uncertain_reason": "its verdicts contradict it"}
    told = decided(SCREENING, status="uncertain", confidence=0.9, verdicts={}, **contradicted)
    assert ("status", "status uncertain: a person decides") in told
    assert ("status", "the model answered exclude; changed because: its verdicts contradict it") in told
    assert ("confidence", "0.9, as the model gave it; it gave no quote") in told


def test_a_confidence_that_does_not_follow_from_the_formula_is_said_to() -> None:
    told = decided(SCREENING, status="exclude", confidence=0.7, model_confidence=0.9, verdicts=VERDICTS)
    assert told[-1] == (
        "confidence",
        "0.7, which differs from 0.9 x (1 - 0.5 x 2/3) = 0.6: another release set it; of 3 quotes 1 altered "
        "and 1 not found",
    )


@pytest.mark.parametrize(
    ("kind", "quality", "kept", "formula"),
    [
        ("explicit", 0.95, 0.855, "0.9 x 0.95 = 0.855: the original confidence times the quality"),
        (
            "contextual",
            0.7,
            0.765,
            "0.9 x min(0.85, 0.7 + 0.15) = 0.765: the band of contextual evidence of",
        ),
        ("weak", 0.3, 0.495, "0.9 x min(0.65, 0.3 + 0.25) = 0.495: the band of weak evidence of quality 0.3 to 0.5"),
        ("inappropriate", 0.7, 0.63, "0.9 x 0.7 = 0.63: the original confidence times the quality"),
        ("explicit", 0.44, 0.1, "0.1, which differs from 0.9 x 0.44 = 0.396: another release set it: "),
    ],
)
def test_a_judgement_is_told_by_the_formula_that_gave_it(kind: str, quality: float, kept: float, formula: str) -> None:
    judgement = {
        "is_valid": True,
        "quality_score": quality,
        "evidence_type": kind,
        "original_confidence": 0.9,
        "adjusted_confidence": kept,
        "blocked": False,
    }
    told = decided(Judge(guidelines="g"), kept, judgement)
    assert told[0] == ("value", f"{kind} evidence of quality {quality}")
    assert told[1][1].startswith(formula)
    assert told[2] == ("outcome", f"not blocked: quality {quality} is not below the threshold 0.15")


def test_other_confidences_are_whose_they_are() -> None:
    assert decided(Filter(criteria="x")) == [("confidence", "0.8, as the model gave it")]
    answer = Answer(instruct="i", resp_format="f", eval_crit="c")
    assert decided(answer) == [("confidence", "0.8, the evaluator's score of the final answer")]


def test_what_was_kept_out_is_told_by_its_rule_and_its_text() -> None:
    exclusion = Exclusion(
        rule="animal", reason="a study of rats", confidence=0.95, matched="rats", field="title", start=3, end=7
    )
    record = ItemResult(index=0, item_id="1", status=ItemStatus.EXCLUDED_BY_FILTER, item={}, exclusion=exclusion)
    assert [one.text for one in because(SCREENING, record)] == [
        "excluded by the initial filter, rule animal: a study of rats",
        "matching text: 'rats' in title, characters 3 to 7",
        "0.95, from the rule",
    ]
    copy = Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=4)
    record = record.model_copy(update={"exclusion": copy})
    assert because(SCREENING, record)[0].text == "removed as a duplicate: the same DOI; No. 5 was kept"


def test_a_pending_record_has_no_reason_yet() -> None:
    assert because(SCREENING, ItemResult(index=0, item_id="1", status=ItemStatus.PENDING, item={})) == ()


def test_a_probability_and_a_grade_are_told_beside_the_confidence() -> None:
    told = because(
        Filter(criteria="Is it?"),
        ItemResult(
            index=0,
            item_id="1",
            status=ItemStatus.DECIDED,
            result=EvaluationResult(value=False, confidence=0.9),
            probability=0.12345,
            relevance=7,
        ),
    )
    assert [(one.sets, one.text) for one in told] == [
        ("confidence", "0.9, as the model gave it"),
        (
            "probability",
            "0.1235 that the record is included, from the probabilities of the answer's tokens; the confidence is the "
            "model's own statement",
        ),
        ("relevance", "7 of 100, the model's grade"),
    ]
