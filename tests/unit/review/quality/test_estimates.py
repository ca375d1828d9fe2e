"""What the next hundred records would bring."""

import pytest

from tamis_review.quality.estimates import RECENT_YIELD, expected_from_yield


def test_the_last_hundred_records_read_give_the_yield() -> None:
    # 3 of the last 100 (the 50 includes before do not count); Wilson: 1.03 % to 8.45 %. 60 records are left.
    found = expected_from_yield([True] * 50 + [False] * 97 + [True] * 3, unread=60)
    assert (found.records, found.basis) == (60, RECENT_YIELD)
    assert found.expected == pytest.approx(60 * 0.03)
    assert (found.low, found.high) == (pytest.approx(0.615, abs=1e-3), pytest.approx(5.07, abs=1e-2))


def test_before_anything_was_read_nothing_is_known() -> None:
    found = expected_from_yield([], unread=500)
    assert (found.records, found.expected, found.low, found.high) == (100, None, 0, 100)
