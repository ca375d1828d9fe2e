"""What the initial filter hands back."""

import pytest
from pydantic import ValidationError

from tamis_schemas import Exclusion
from tamis_schemas.answers.filter_result import BatchFilterResult, FilterResult, FilterRule, RejectedPaper
from tamis_schemas.records.paper import PaperData

REJECTED = FilterResult(
    passed=False,
    reason="'in mice' in the title",
    confidence=0.95,
    rule=FilterRule.ANIMAL,
    matched="in mice",
    field="title",
    start=4,
    end=11,
)


def test_a_rejection_becomes_an_exclusion_with_its_place() -> None:
    assert REJECTED.exclusion() == Exclusion(
        rule="animal",
        reason="'in mice' in the title",
        confidence=0.95,
        matched="in mice",
        field="title",
        start=4,
        end=11,
    )


def test_a_paper_that_passed_has_no_exclusion() -> None:
    assert FilterResult(passed=True, reason="no rule rejects it").exclusion() is None


@pytest.mark.spec("3.3")
@pytest.mark.parametrize("fields", [{"passed": True, "rule": "animal"}, {"passed": False}])
def test_a_rule_rejects_and_without_one_a_paper_passes(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="a rejected paper needs a rule"):
        FilterResult.model_validate({"reason": "r"} | fields)


@pytest.mark.spec("3.4")
@pytest.mark.parametrize(("passed", "rejected", "rate"), [(3, 1, 0.75), (0, 2, 0.0), (2, 0, 1.0), (0, 0, 0.0)])
def test_the_pass_rate_is_the_share_that_passed(passed: int, rejected: int, rate: float) -> None:
    paper = PaperData(title="T")
    batch = BatchFilterResult(
        passed=[paper] * passed, rejected=[RejectedPaper(paper=paper, result=REJECTED)] * rejected
    )
    assert (batch.pass_rate, batch.total) == (rate, passed + rejected)
    assert all(one.reason == REJECTED.reason for one in batch.rejected)
