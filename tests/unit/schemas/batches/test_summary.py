"""The accounting identity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import Counts
from tamis_schemas.batches.summary import CONFIDENCE_BANDS

PARTS = ("excluded_by_filter", "decided", "failed", "cancelled", "pending", "running")


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
