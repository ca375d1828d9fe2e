"""A flow whose numbers do not add up cannot be made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tamis_schemas.batches.flow import Arrow, Flow, FlowStage, Tally

COUNT = st.integers(min_value=0, max_value=10_000)
TALLIES = st.lists(st.builds(Tally, name=st.text(max_size=5), n=COUNT), max_size=4).map(tuple)


def tallies(**counts: int) -> tuple[Tally, ...]:
    return tuple(Tally(name=name, n=n) for name, n in counts.items())


# 100 = 10 duplicates + 15 ineligible + 75 screened; 75 = 20 passed + 40 excluded + 9 uncertain + 4 failed + 2 open
SCREENING = FlowStage(
    operation="inclusion",
    entered=75,
    passed=20,
    excluded=tallies(animals=25, design=15),
    uncertain=9,
    failed=tallies(timeout=3, refused=1),
    open=2,
)
PRISMA = Flow(
    identified=tallies(export=100), duplicates=10, ineligible=tallies(editorial=12, dates=3), stages=(SCREENING,)
)
# 20 passed + 1 admitted = 18 entered + 3 held back
SECOND = FlowStage(operation="extract_fields", entered=18, admitted=1, held_back=3, passed=17, failed=tallies(empty=1))


def test_the_totals_of_a_flow_are_those_of_its_parts() -> None:
    assert PRISMA.n_identified == 100
    assert PRISMA.n_removed == 25  # 10 + 12 + 3
    assert PRISMA.stages[0].referred == 13  # 9 uncertain + 3 + 1 failed
    assert not PRISMA.complete  # 2 are open
    assert [arrow.place for arrow in PRISMA.arrows] == ["identification", "inclusion"]
    assert all(arrow.adds_up for arrow in PRISMA.arrows)


def test_every_arrow_of_a_review_adds_up() -> None:
    review = PRISMA.model_copy(update={"stages": (SCREENING, SECOND)})
    arrows = {arrow.place: arrow for arrow in Flow.model_validate(review.model_dump()).arrows}
    assert arrows["from inclusion to extract_fields"].arrived == 21  # 20 passed + 1 admitted
    assert {place: sum(way.n for way in arrow.ways) for place, arrow in arrows.items()} == {
        "identification": 100,
        "inclusion": 75,
        "from inclusion to extract_fields": 21,
        "extract_fields": 18,
    }


@pytest.mark.parametrize(
    ("where", "change", "said"),
    [
        ("flow", {"identified": tallies(export=99)}, "identification: 99 records arrive"),
        ("flow", {"duplicates": 9}, "identification: 100 records arrive"),
        ("flow", {"ineligible": ()}, "identification: 100 records arrive"),
        ("flow", {"removed_otherwise": 1}, "1 removed otherwise"),
        ("stage", {"passed": 21}, "inclusion: 75 records arrive"),
        ("stage", {"excluded": ()}, "0 excluded"),
        ("stage", {"uncertain": 8}, "8 uncertain"),
        ("stage", {"failed": ()}, "0 failed"),
        ("stage", {"cancelled": 1}, "1 cancelled"),
        ("stage", {"open": 0}, "0 not decided yet"),
        ("stage", {"marked": 21}, "21 records are marked, but only 20 passed"),
        ("stage", {"unverified": 99}, "99 records were excluded without a verified quote, but only"),
        ("stage", {"held_back": 1}, "the first stage has none before it"),
        ("second", {"held_back": 2}, "from inclusion to extract_fields: 21 records arrive"),
        ("second", {"admitted": 0}, "from inclusion to extract_fields: 20 records arrive"),
    ],
)
def test_a_number_that_does_not_fit_is_refused_naming_the_arrow(
    where: str, change: dict[str, object], said: str
) -> None:
    first = SCREENING.model_copy(update=change if where == "stage" else {})
    stages = (first, SECOND.model_copy(update=change)) if where == "second" else (first,)
    flow = PRISMA.model_copy(update={"stages": stages} | (change if where == "flow" else {}))
    with pytest.raises(ValidationError, match=said):
        Flow.model_validate(flow.model_dump())


@pytest.mark.parametrize(
    ("counts", "complete"),
    [([(0, 0)], True), ([(1, 0)], False), ([(0, 1)], False), ([(0, 0), (0, 0)], True), ([(0, 0), (2, 0)], False)],
)
def test_a_flow_is_complete_where_no_stage_has_records_open_or_cancelled(
    counts: list[tuple[int, int]], complete: bool
) -> None:
    stages = [
        FlowStage(operation="inclusion", entered=9, passed=9 - left - lost, open=left, cancelled=lost)
        for left, lost in counts
    ]
    assert Flow.model_construct(stages=tuple(stages)).complete is complete


def test_no_count_is_below_zero() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Tally(name="x", n=-1)


@given(TALLIES, TALLIES, TALLIES, COUNT, COUNT, COUNT, COUNT, COUNT)
def test_a_flow_is_made_exactly_where_its_parts_make_up_the_whole(
    ineligible: tuple[Tally, ...],
    excluded: tuple[Tally, ...],
    failed: tuple[Tally, ...],
    duplicates: int,
    passed: int,
    uncertain: int,
    waiting: int,
    lost: int,
) -> None:
    entered = passed + uncertain + waiting + sum(tally.n for tally in (*excluded, *failed))
    stage = FlowStage(
        operation="inclusion",
        entered=entered,
        passed=passed,
        excluded=excluded,
        uncertain=uncertain,
        failed=failed,
        open=waiting,
    )
    whole = entered + duplicates + sum(tally.n for tally in ineligible)
    parts = {"duplicates": duplicates, "ineligible": ineligible, "stages": (stage,)}
    if lost:
        with pytest.raises(ValidationError):
            Flow(identified=tallies(export=whole + lost), **parts)  # type: ignore[arg-type]  # a dict of several types
    flow = Flow(identified=tallies(export=whole), **parts)  # type: ignore[arg-type]  # as above
    assert all(arrow.adds_up for arrow in flow.arrows)
    assert Flow.model_validate_json(flow.model_dump_json()) == flow


def test_an_arrow_knows_when_it_does_not_add_up() -> None:
    assert not Arrow(place="here", arrived=3, ways=tallies(left=1, right=1)).adds_up
