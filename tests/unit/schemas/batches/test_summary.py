"""The accounting identity."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import Counts, PossiblyUnbilled, possibly_unbilled_cost
from tamis_schemas.batches.summary import CONFIDENCE_BANDS

PARTS = ("excluded_by_filter", "decided", "failed", "cancelled", "pending", "running")
D = Decimal


@given(st.lists(st.integers(0, 10_000), min_size=6, max_size=6))
def test_the_identity_holds_exactly_where_the_parts_add_up(numbers: list[int]) -> None:
    parts = dict(zip(PARTS, numbers, strict=True))
    assert Counts(n_items=sum(numbers), **parts).identity_holds
    assert not Counts(n_items=sum(numbers) + 1, **parts).identity_holds


@given(st.lists(st.integers(0, 10_000), min_size=6, max_size=6))
def test_finished_are_all_but_pending_and_running(numbers: list[int]) -> None:
    counts = Counts(n_items=sum(numbers), **dict(zip(PARTS, numbers, strict=True)))
    assert counts.finished == sum(numbers[:4])


@pytest.mark.spec("1.37")
def test_the_bands_are_those_of_the_rubric_and_cover_every_confidence() -> None:
    assert [least for _, least in CONFIDENCE_BANDS] == [0.9, 0.7, 0.4, 0.0]


@pytest.mark.parametrize(
    ("n", "mean", "cost"),
    [
        (12, "0.0026", "0.0312"),
        (3, "0.0000000033333", "0.000000010"),  # 9.9999e-9, up to the next nanodollar
        (5, "0", "0"),
        (5, None, None),
        (0, "0.0026", None),
    ],
)
def test_each_call_is_taken_for_what_a_paid_item_cost(n: int, mean: str | None, cost: str | None) -> None:
    assert possibly_unbilled_cost(n, None if mean is None else D(mean)) == (None if cost is None else D(cost))


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        (PossiblyUnbilled(), None),
        (
            PossiblyUnbilled(unanswered=3, possibly_unbilled_cost=D("0.0078")),
            "up to about $0.0078 (3 calls with an unknown end)",
        ),
        (
            PossiblyUnbilled(unanswered=1, lost_claims=1200, possibly_unbilled_cost=D("1.5")),
            "up to about $1.50 (1 call with an unknown end, 1,200 claims whose worker died)",
        ),
        (PossiblyUnbilled(lost_claims=1), "price not known (1 claim whose worker died)"),
    ],
)
def test_calls_and_claims_are_told_apart(figures: PossiblyUnbilled, words: str | None) -> None:
    assert figures.unbilled_words == words


def test_the_sum_is_told_to_programs_and_read_back() -> None:
    figures = PossiblyUnbilled(unanswered=1, lost_claims=2, possibly_unbilled_cost=D("0.3"))
    told = figures.model_dump(mode="json")
    assert told == {"unanswered": 1, "lost_claims": 2, "possibly_unbilled_cost": 0.3, "possibly_unbilled": 3}
    assert PossiblyUnbilled.model_validate(told) == figures
