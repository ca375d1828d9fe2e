"""A flow with sources, reports and other methods: each number that does not fit is refused, naming its place."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from stage.complete_flow import COMPLETE, OTHERS, SEARCHED, tallies
from tamis_schemas.batches.flow import Flow, ReportFlow

COUNT = st.integers(min_value=0, max_value=1_000)


def test_every_arrow_of_the_whole_is_the_sum_of_its_columns() -> None:
    assert [arrow.place for arrow in COMPLETE.arrows] == [
        "identification",
        "inclusion",
        "from screening to retrieval",
        "retrieval",
        "full text",
    ]
    # 70 + 30 + 9; 75 + 8; 12 + 3; 12 + 3; 10 + 3
    assert [arrow.arrived for arrow in COMPLETE.arrows] == [109, 83, 15, 15, 13]
    assert COMPLETE.complete
    assert OTHERS.other_methods
    assert not SEARCHED.other_methods
    assert not COMPLETE.other_methods


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sought": 13}, "from screening to retrieval: 12 records arrive, but 13 sought"),
        ({"not_retrieved": ()}, "retrieval: 12 records arrive, but 0 not retrieved"),
        ({"awaited": 1}, "1 awaited"),
        ({"unassessed": 1}, "1 not assessed yet"),
        ({"included": 5}, "retrieval: 12 records arrive"),
        ({"excluded": tallies(Wrong_outcome=5)}, "retrieval: 12 records arrive"),
        ({"studies": 5}, "5 studies are included, but only 4 reports"),
    ],
)
def test_reports_that_do_not_add_up_are_refused(change: dict[str, Any], said: str) -> None:
    reports = SEARCHED.reports
    assert reports is not None
    flow = SEARCHED.model_copy(update={"reports": reports.model_copy(update=change)})
    with pytest.raises(ValidationError, match=said):
        Flow.model_validate(flow.model_dump())


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("identified", "identified: 100 records, but 101 by source"),
        ("duplicates", "duplicates: 20 records, but 21 by source"),
        ("screened", "screened: 75 records, but 76 by source"),
    ],
)
def test_sources_that_do_not_add_up_to_the_whole_are_refused(field: str, said: str) -> None:
    first, second = SEARCHED.sources
    more = first.model_copy(update={field: getattr(first, field) + 1})
    with pytest.raises(ValidationError, match=said):
        Flow.model_validate(SEARCHED.model_copy(update={"sources": (more, second)}).model_dump())


def test_columns_that_are_not_the_whole_are_refused() -> None:
    stage = OTHERS.stages[0].model_copy(update={"excluded": tallies(Animals=4), "uncertain": 1})
    other = OTHERS.model_copy(update={"stages": (stage,)})
    with pytest.raises(ValidationError, match=r"inclusion: the columns have .* together, which is not the whole"):
        Flow.model_validate(COMPLETE.model_copy(update={"columns": (SEARCHED, other)}).model_dump())
    short = OTHERS.model_copy(update={"reports": None})
    with pytest.raises(ValidationError, match="the columns have other stages than the whole"):
        Flow.model_validate(COMPLETE.model_copy(update={"columns": (SEARCHED, short)}).model_dump())


def test_more_confirmed_exclusions_than_exclusions_are_refused() -> None:
    stage = SEARCHED.stages[0].model_copy(update={"excluded_confirmed": 54})
    with pytest.raises(ValidationError, match="a human excluded 54 records too, but the model 53"):
        Flow.model_validate(SEARCHED.model_copy(update={"stages": (stage,)}).model_dump())


def test_reports_of_a_batch_that_screens_nothing_are_refused() -> None:
    stage = SEARCHED.stages[0].model_copy(update={"operation": "score"})
    with pytest.raises(ValidationError, match="from screening to retrieval: 0 records arrive, but 12 sought"):
        Flow.model_validate(SEARCHED.model_copy(update={"stages": (stage,)}).model_dump())


@settings(max_examples=40)
@given(COUNT, COUNT, COUNT, COUNT, COUNT, COUNT)
def test_a_figure_is_complete_exactly_where_no_report_is_open(
    missing: int, awaited: int, unassessed: int, excluded: int, conflicts: int, included: int
) -> None:
    sought = missing + awaited + unassessed + excluded + conflicts + included
    reports = ReportFlow(
        sought=sought,
        not_retrieved=tallies(Lost=missing),
        awaited=awaited,
        unassessed=unassessed,
        excluded=tallies(Wrong_age=excluded),
        conflicts=conflicts,
        included=included,
        studies=included,
    )
    assert all(arrow.adds_up for arrow in reports.arrows)
    assert (reports.open == 0) is (awaited == unassessed == conflicts == 0)
    assert reports.assessed == sought - missing - awaited - unassessed
    assert ReportFlow.model_validate_json(reports.model_dump_json()) == reports
