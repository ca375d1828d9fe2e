"""A judge's reply, read tolerantly, or refused where it says nothing."""

from typing import Any

import pytest

from tamis_worker.operations.answer_model import InvalidAnswer
from tamis_worker.operations.evidence_judge import read_reply

REPLY: dict[str, Any] = {"is_valid": True, "quality_score": 0.9, "evidence_type": "explicit", "issue": ""}


@pytest.mark.spec("5.18")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (True, 0.9, "explicit", None)),
        ({"quality_score": 1.4}, (True, 1.0, "explicit", None)),
        ({"quality_score": -1, "evidence_type": "inappropriate"}, (True, 0.0, "inappropriate", None)),
        ({"quality_score": None}, (True, 1.0, "explicit", None)),
        ({"quality_score": 0.0, "evidence_type": "contextual"}, (True, 0.7, "contextual", None)),
        ({"quality_score": 0, "evidence_type": "weak"}, (True, 0.4, "weak", None)),
        ({"quality_score": 0.0, "evidence_type": "inappropriate"}, (True, 0.0, "inappropriate", None)),
        ({"evidence_type": " Weak "}, (True, 0.9, "weak", None)),
        ({"evidence_type": "banana"}, (True, 0.9, "unknown", None)),
        ({"evidence_type": "banana", "quality_score": 0.0}, (True, 0.0, "unknown", None)),
        ({"evidence_type": None, "quality_score": 0.0}, (True, 0.0, "unknown", None)),  # 0.0 is a score
        ({"quality_score": "0.5"}, (True, 0.5, "explicit", None)),
        ({"is_valid": False, "issue": "Products."}, (False, 0.9, "explicit", "Products.")),
        ({"is_valid": "false"}, (False, 0.9, "explicit", None)),
        ({"is_valid": None}, (True, 0.9, "explicit", None)),
        ({"is_valid": None, "evidence_type": "inappropriate", "quality_score": 0}, (False, 0.0, "inappropriate", None)),
        ({"issue": None}, (True, 0.9, "explicit", None)),
        ({"more": 1}, (True, 0.9, "explicit", None)),
    ],
)
def test_a_reply_is_read_tolerantly(changes: dict[str, Any], expected: tuple[object, ...]) -> None:
    evidence = read_reply(REPLY | changes)
    assert (evidence.is_valid, evidence.quality_score, evidence.evidence_type, evidence.issue) == expected


@pytest.mark.spec("5.20")
def test_a_score_that_is_missing_is_that_of_its_type() -> None:
    assert read_reply({"evidence_type": "weak"}).quality_score == 0.4


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "valid",
        [REPLY],
        {},
        {"is_valid": False},
        REPLY | {"quality_score": "high"},
        REPLY | {"quality_score": True},
        REPLY | {"quality_score": float("nan")},
        REPLY | {"quality_score": float("inf")},
        REPLY | {"quality_score": 10**400},
        REPLY | {"quality_score": [1]},
        REPLY | {"is_valid": "perhaps"},
        REPLY | {"is_valid": 1},
    ],
)
def test_a_reply_that_says_nothing_is_refused(reply: object) -> None:
    with pytest.raises(InvalidAnswer):
        read_reply(reply)
