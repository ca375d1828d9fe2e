"""The functions of spec 5: dictionaries in and out, neutral where the judge fails."""

import logging
from typing import Any

import pytest

from judge_clients import BLOCKED, CLASSIFICATION, REPLY, Kind, One, each_form, each_kind, evaluated, neutral, saying
from tamis_schemas import InvalidParameters
from tamis_worker.operations import judge
from tamis_worker.operations.evidence import QUALITY_OF
from tamis_worker.operations.judge import (
    QUALITY_CONTEXTUAL,
    QUALITY_EXPLICIT,
    QUALITY_INAPPROPRIATE,
    QUALITY_WEAK,
    EvidenceEvaluation,
    adjust_confidence_with_evidence_quality,
    evaluate_evidence_quality,
    should_block_classification,
)


@pytest.mark.spec("5.1")
def test_the_constants_are_public_here() -> None:
    assert (QUALITY_EXPLICIT, QUALITY_CONTEXTUAL, QUALITY_WEAK, QUALITY_INAPPROPRIATE) == (1.0, 0.7, 0.4, 0.0)
    assert should_block_classification(0.149)
    assert not should_block_classification(0.15)


def test_the_judge_is_told_the_scale_by_which_its_answer_is_read() -> None:
    for evidence_type, quality in QUALITY_OF.items():
        assert f"\n- {evidence_type} ({quality}): " in judge.JUDGE_SYSTEM_PROMPT


@pytest.mark.spec("5.3", "5.11", "5.14", "5.15", "5.16", "5.37")
@each_kind
@each_form
def test_the_judge_is_asked_with_both_prompts_at_temperature_01(kind: Kind, evaluate: One) -> None:
    client = saying(BLOCKED, kind)
    assert evaluated(client, evaluate=evaluate) == BLOCKED  # what is to be blocked is
    ((system, user, temperature),) = client.asked
    assert (system, temperature) == (judge.JUDGE_SYSTEM_PROMPT, 0.1)
    assert user.startswith("## Section Evidence Guidelines:\nTitles count.\n\n## Classification to Evaluate:\n")
    assert "- Taxonomy Value: Male\n- Confidence: 0.9\n- Reasoning: Signed as Mr. Smith in Email 3\n" in user
    assert "NOTE: The agent analyzed a batch of 20 emails.\n\n## Your Task:" in user


@pytest.mark.spec("5.4", "5.8")
@pytest.mark.parametrize(
    ("changes", "issue"),
    [
        ({"email_numbers": [1, 21]}, "Email 21 but batch only contains 20 emails."),
        ({"cited": [21]}, "Email 21 but batch only contains 20 emails."),
        ({"reasoning": "see EMAIL 21"}, "'Email 21' but batch only contains 20 emails."),
    ],
)
def test_a_hallucination_is_found_without_asking_the_judge(changes: dict[str, Any], issue: str) -> None:
    client = saying(REPLY)
    assert evaluated(client, **changes) == {
        "is_valid": False,
        "quality_score": 0.0,
        "evidence_type": "inappropriate",
        "issue": f"HALLUCINATION: Reasoning cites {issue}",
    }
    assert client.asked == []


@pytest.mark.spec("5.9")
@pytest.mark.parametrize("batch_size", [None, 0])
def test_without_a_batch_size_nothing_is_a_hallucination(batch_size: int | None) -> None:
    client = saying(REPLY)
    assert evaluated(client, batch_size, reasoning="Email 99", email_numbers=[99])["is_valid"]
    assert "batch of" not in client.asked[0][1]


def test_another_noun_can_be_judged() -> None:
    judged = CLASSIFICATION | {"reasoning": "Study 9"}
    found = evaluate_evidence_quality(judged, "c", "g", saying(REPLY), 5, noun="Study", plural="studies")
    assert found["issue"] == "HALLUCINATION: Reasoning cites 'Study 9' but batch only contains 5 studies."


@pytest.mark.spec("5.21")
@pytest.mark.parametrize("reply", [None, "valid", {}, REPLY | {"quality_score": "high"}])
def test_a_reply_that_says_nothing_is_neutral(reply: object) -> None:
    found = evaluated(saying(reply))
    assert found == neutral((found["issue"] or "").removeprefix("Judge error: "))


def evaluation(score: float, kind: str, issue: str | None = None) -> EvidenceEvaluation:
    return {"is_valid": score > 0, "quality_score": score, "evidence_type": kind, "issue": issue}


@pytest.mark.spec("5.31", "5.32")
@pytest.mark.parametrize(
    ("confidence", "score", "kind", "adjusted"),
    [
        (0.9, 1.0, "explicit", 0.9),
        (0.9, 0.7, "contextual", 0.765),  # 0.9 x min(0.85, 0.7 + 0.15)
        (0.9, 0.4, "weak", 0.585),  # 0.9 x min(0.65, 0.4 + 0.25)
        (0.9, 0.0, "inappropriate", 0.0),
        (0.9, 0.7, "inappropriate", 0.63),  # 0.9 x 0.7
        (0.9, 0.7, "unknown", 0.63),  # a judge that failed costs 30 %: 0.9 x 0.7
        (0.9, 0.7, "strong", 0.63),  # a type that is not on the scale
        (0.9, 0.7, "Contextual ", 0.765),
        (0.0, 1.0, "explicit", 0.0),
    ],
)
def test_an_adjusted_classification_says_what_it_was_and_why(
    confidence: float, score: float, kind: str, adjusted: float
) -> None:
    given = {"value": "Male", "confidence": confidence, "reasoning": "r"}
    returned = adjust_confidence_with_evidence_quality(given, evaluation(score, kind))
    assert returned == {
        "value": "Male",
        "reasoning": "r",
        "confidence": pytest.approx(adjusted),
        "original_confidence": confidence,
        "evidence_quality": score,
        "evidence_type": kind,
    }


@pytest.mark.spec("5.32", "5.33")
def test_the_classification_itself_is_adjusted_as_spec_5_uses_it() -> None:
    given = dict(CLASSIFICATION)
    returned = adjust_confidence_with_evidence_quality(given, evaluation(0.0, "inappropriate", "Products."))
    assert returned is given
    assert (given["confidence"], given["evidence_issue"]) == (0.0, "Products.")


@pytest.mark.parametrize(
    ("classification", "found", "named"),
    [
        ({"value": "x"}, evaluation(1.0, "explicit"), "confidence: None"),
        ({"confidence": "0.9"}, evaluation(1.0, "explicit"), "confidence: '0.9'"),
        ({"confidence": True}, evaluation(1.0, "explicit"), "confidence: True"),
        ({"confidence": 0.9}, {"evidence_type": "weak"}, "quality_score: None"),
    ],
)
def test_what_cannot_be_adjusted_is_refused_and_left_alone(
    classification: dict[str, Any], found: dict[str, Any], named: str
) -> None:
    before = dict(classification)
    with pytest.raises(InvalidParameters, match=f"^{named}"):
        adjust_confidence_with_evidence_quality(classification, found)
    assert classification == before


@pytest.mark.spec("5.34")
@pytest.mark.parametrize(
    ("score", "kind", "warned"),
    [
        (1.0, "explicit", False),
        (0.7, "contextual", False),  # 0.7 + 0.15 = 0.85: a drop of 15 %
        (0.65, "contextual", False),  # 0.80: 20 % to the point
        (0.64, "contextual", True),  # 0.79: 21 %
        (0.7, "inappropriate", True),  # 0.7: 30 %
        (0.7, "unknown", True),
        (0.4, "weak", True),
        (0.0, "inappropriate", True),
    ],
)
def test_a_drop_of_more_than_20_percent_is_warned_of(
    score: float, kind: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        adjust_confidence_with_evidence_quality(dict(CLASSIFICATION), evaluation(score, kind))
    assert [record.levelname for record in caplog.records] == ["WARNING"] * warned
    assert "Male" not in caplog.text  # a value may be personal
