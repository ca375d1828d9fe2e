"""What human decisions come to: agreement, the verdict of an audit, and what passes on."""

from datetime import UTC, datetime

import pytest

from tamis_review.decisions.audits import verdict
from tamis_review.decisions.human_agreement import figures, two_places
from tamis_schemas import (
    Audit,
    AuditItem,
    EvaluationResult,
    Extract,
    Filter,
    Inclusion,
    InclusionStatus,
    ItemResult,
    Operation,
    Override,
    Score,
    SearchCriteria,
    Stratum,
)
from tamis_schemas.batches.review_plan import ReviewStage

INCLUSION = Inclusion(criteria=SearchCriteria(research_question="Does it?", inclusion_criteria=["It does"]))
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def audit(said: dict[int, bool | None], population: int = 100) -> Audit:
    items = tuple(AuditItem(index=index, item_id=f"r{index}", include=include) for index, include in said.items())
    return Audit(
        id="a", batch_id="b", seed=1, stratum=Stratum.MODEL, population=population, created_at=NOW, items=items
    )


def human(value: object) -> Override:
    return Override(batch_id="b", index=0, item_id="r0", value=value, reviewer="Reviewer A", created_at=NOW)


def test_an_item_counts_once_and_what_the_software_left_open_does_not() -> None:
    system = {0: "include", 1: "exclude", 2: "exclude", 3: "exclude"}
    overridden = {0: "include", 1: "include", 9: "include"}  # 9: uncertain, say
    found = figures(system, overridden, [audit({1: False, 2: False, 3: None})])
    assert (found.overrides.n, found.overrides.observed) == (2, 0.5)
    assert (found.audits.n, found.audits.observed) == (2, 1.0)
    assert (found.together.n, found.together.observed) == (3, 2 / 3)  # of 1 the override counts
    assert found.undecided == 1


def test_where_nobody_said_anything_there_is_no_figure() -> None:
    found = figures({0: "include"}, {}, [])
    assert (found.together.n, found.together.kappa, found.together.ac1) == (0, None, None)


def test_nothing_is_shown_as_minus_nothing() -> None:
    assert [two_places(value) for value in (-0.001, 0.0, -0.126, 1.0)] == ["0.00", "0.00", "-0.13", "1.00"]


def test_records_that_nobody_judged_yet_count_as_missed() -> None:
    done = verdict(audit(dict.fromkeys(range(10), False)))
    part = verdict(audit({**dict.fromkeys(range(8), False), 8: None, 9: None}))
    found = verdict(audit({**dict.fromkeys(range(8), False), 8: True, 9: True}))
    assert (part.most, part.missed, part.undecided) == (found.most, 0, 2)
    assert done.most < part.most
    assert "The 2 records not judged yet count as missed" in part.sentence


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            audit({0: None}),
            "Of 100 records excluded by the model, 1 was drawn at random; no human decision is recorded yet.",
        ),
        (
            audit({0: False, 1: True}, population=2),
            "All 2 records excluded by the model were judged by a human: 1 record should have been included.",
        ),
        (
            audit(dict.fromkeys(range(50), False), population=1000),
            "Of 1,000 records excluded by the model, 50 were drawn at random and 50 judged by a human: no records "
            "should have been included. With 95% confidence, at most 56 of all 1,000 (5.6%) should have been.",
        ),
    ],
)
def test_the_sentence_says_what_the_audit_means(given: Audit, said: str) -> None:
    assert verdict(given).sentence == said


def test_the_finite_bound_is_the_narrower_one() -> None:
    said = verdict(audit(dict.fromkeys(range(50), False), population=200))
    assert said.most_share < said.binomial_share
    assert said.binomial_share == pytest.approx(1 - 0.05 ** (1 / 50))  # none found: p where (1 - p)^50 = 0.05


@pytest.mark.parametrize(
    ("operation", "value", "passes"),
    [
        (INCLUSION, "include", True),
        (INCLUSION, "exclude", False),
        (Filter(criteria="x"), True, True),
        (Filter(criteria="x"), False, False),
        (Score(criteria="x"), 0.4, False),
        (Score(criteria="x"), 0.5, True),
    ],
)
def test_what_a_human_decided_says_what_goes_on_whatever_the_software_said(
    operation: Operation, value: object, passes: bool
) -> None:
    stage = ReviewStage(operation=operation, at_least=0.5 if isinstance(operation, Score) else None)
    for status in ("decided", "failed", "excluded_by_filter", "cancelled"):
        row = ItemResult(index=0, item_id="r0", status=status, override=human(value))
        assert stage.lets_pass(row) is passes


def test_a_status_that_a_plan_lets_go_on_besides_includes_changes_nothing_for_humans() -> None:
    stage = ReviewStage(operation=INCLUSION, passes=(InclusionStatus.INCLUDE, InclusionStatus.UNCERTAIN))
    assert stage.lets_pass(ItemResult(index=0, item_id="r0", status="failed", override=human("include")))
    assert not stage.lets_pass(ItemResult(index=0, item_id="r0", status="decided", override=human("exclude")))


@pytest.mark.parametrize("operation", [INCLUSION, Filter(criteria="x"), Score(criteria="x"), Extract(instruction="x")])
def test_a_record_in_conflict_goes_to_no_stage_whatever_the_software_said(operation: Operation) -> None:
    said = {"inclusion": "include", "filter": True, "score": 0.9, "extract": "words"}[operation.operation]
    both = (human("include"), human("exclude"))
    row = ItemResult(
        index=0, item_id="r0", status="decided", result=EvaluationResult(value=said, confidence=0.9), decisions=both
    )
    assert (row.conflict, row.final_value, row.overridden) == (True, None, False)
    assert not ReviewStage(operation=operation).lets_pass(row)
    assert ReviewStage(operation=operation).lets_pass(row.model_copy(update={"decisions": ()}))


def test_only_what_the_software_decided_can_be_confirmed() -> None:
    assert human("include").confirms is False
    assert human(None).confirms is False
    same = human("include").model_copy(update={"system_decided": True, "system_value": "include"})
    assert same.confirms
    assert not same.model_copy(update={"withdrawn": True}).confirms
