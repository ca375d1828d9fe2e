"""Exploration: a stated share of places, drawn by the seed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.order.exploration import explored_places, with_exploration
from tamis_schemas.records.random_order import sample

SHARES = st.floats(0, 1, allow_nan=False)
SEEDS = st.integers(0, 1_000)


@settings(max_examples=50, deadline=None)
@given(first=st.integers(0, 5_000), n=st.integers(0, 300), share=SHARES, seed=SEEDS)
def test_of_any_places_in_a_row_the_share_is_explored_give_or_take_one(
    first: int, n: int, share: float, seed: int
) -> None:
    assert abs(sum(explored_places(first, n, share, seed)) - n * share) <= 1 + 1e-6


def test_whether_a_place_is_explored_does_not_depend_on_where_one_begins_to_read() -> None:
    whole = explored_places(0, 200, 0.05, seed=3)
    assert sum(whole) == 10
    assert [explored_places(place, 1, 0.05, seed=3)[0] for place in range(200)] == whole


def test_seeds_draw_other_places_and_other_records() -> None:
    assert len({tuple(explored_places(0, 20, 0.05, seed)) for seed in range(40)}) > 10
    assert sample(range(50), 50, seed=1) != sample(range(50), 50, seed=2)


def test_the_order_of_chance_stays_as_it_is_when_records_leave() -> None:
    everyone = sample(range(50), 50, seed=1)
    assert sample(range(10, 50), 40, seed=1) == [row for row in everyone if row >= 10]
    assert sample(reversed(range(50)), 50, seed=1) == everyone


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.integers(0, 99), unique=True), read=st.integers(0, 500), share=SHARES, seed=SEEDS)
def test_no_record_is_lost_and_those_that_are_not_drawn_keep_their_order(
    rows: list[int], read: int, share: float, seed: int
) -> None:
    order, drawn = with_exploration(rows, read=read, share=share, seed=seed)
    assert sorted(order) == sorted(rows)
    assert [row for row in order if row not in drawn] == [row for row in rows if row not in drawn]
    assert len(drawn) == sum(explored_places(read, len(rows), share, seed))


@pytest.mark.parametrize(("share", "expected"), [(0, [4, 2, 7]), (1, sample([4, 2, 7], 3, seed=5))])
def test_a_share_of_nothing_leaves_the_order_and_one_of_all_is_chance(share: float, expected: list[int]) -> None:
    assert with_exploration([4, 2, 7], read=9, share=share, seed=5)[0] == expected
