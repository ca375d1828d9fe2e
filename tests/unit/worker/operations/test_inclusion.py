"""An inclusion's answer: verdicts, status, and an exclusion that can always name its reason."""

from itertools import product
from typing import Any

import pytest

from tamis_schemas import Inclusion, InclusionDecision, InclusionStatus, SearchCriteria, Verdict
from tamis_worker.operations import InvalidAnswer, inclusion

CRITERIA = SearchCriteria(
    research_question="Does it work?", inclusion_criteria=["humans"], exclusion_criteria=["case reports"]
)
INCLUSION = Inclusion(criteria=CRITERIA)


def answer(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "rationale": "because",
        "verdicts": {"I1": "met", "E1": "not met"},
        "status": "include",
        "confidence": 0.9,
    }
    return given | changes


def decision(status: str, included: str, excluded: str) -> InclusionDecision:
    evaluation = inclusion.parse(INCLUSION, answer(status=status, verdicts={"I1": included, "E1": excluded}))
    assert isinstance(evaluation.detail, InclusionDecision)
    assert evaluation.result.value == evaluation.detail.status.value
    return evaluation.detail


def test_rationale_and_verdicts_come_before_the_status() -> None:
    schema = inclusion.response_schema(INCLUSION)
    assert list(schema["properties"]) == ["rationale", "verdicts", "status", "confidence"]
    assert list(schema["properties"]["verdicts"]["properties"]) == ["I1", "E1"]
    assert schema["properties"]["verdicts"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("status", "included", "excluded", "ends", "deciding"),
    [
        ("include", "met", "not met", "include", ["humans"]),
        ("include", "met", "unclear", "include", ["humans"]),
        ("include", "unclear", "not met", "include", []),
        ("include", "not met", "not met", "uncertain", []),  # a reason against it
        ("include", "met", "met", "uncertain", []),
        ("exclude", "not met", "not met", "exclude", ["humans"]),
        ("exclude", "met", "met", "exclude", ["case reports"]),
        ("exclude", "not met", "met", "exclude", ["humans", "case reports"]),
        ("exclude", "met", "not met", "uncertain", []),  # no reason for it
        ("exclude", "unclear", "unclear", "uncertain", ["humans", "case reports"]),
        ("uncertain", "unclear", "not met", "uncertain", ["humans"]),
        ("uncertain", "not met", "met", "uncertain", []),
    ],
)
def test_a_status_needs_verdicts_that_bear_it(
    status: str, included: str, excluded: str, ends: str, deciding: list[str]
) -> None:
    made = decision(status, included, excluded)
    assert made.status.value == ends
    assert made.criteria == deciding
    assert made.model_status == (None if ends == status else InclusionStatus(status))


def test_no_exclusion_is_ever_without_a_reason() -> None:
    for status, included, excluded in product(InclusionStatus, Verdict, Verdict):
        made = decision(status.value, included.value, excluded.value)
        assert made.status is not InclusionStatus.EXCLUDE or made.criteria


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"status": "Include"}, "status: 'Include'"),
        ({"status": "maybe"}, "status: 'maybe'"),
        ({"verdicts": {"I1": "met"}}, "verdicts: given for"),
        ({"verdicts": {"I1": "met", "E1": "met", "E2": "met"}}, "verdicts: given for"),
        ({"verdicts": {"I1": "met", "E1": "yes"}}, "verdicts: 'yes'"),
        ({"verdicts": []}, "verdicts: "),
        ({"confidence": 7}, "confidence: "),
        ({"rationale": None}, "rationale: "),
        ({"extra": 1}, "extra: "),
    ],
)
def test_an_answer_that_is_not_what_was_asked_for_is_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidAnswer, match=named):
        inclusion.parse(INCLUSION, answer(**changes))
