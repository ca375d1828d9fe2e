"""Calls in flight: halved at trouble, growing with success. The figures are those of the docstring of `gcra`."""

from typing import Any

import pytest

from limit_world.formulas import adapt_concurrency, table
from tamis_worker.limiter.gcra import CUT_WINDOW

SECOND = 1_000_000
NOW = 1_000 * SECOND
CEILING = 100


def remembered(**fields: float) -> Any:
    return table(**({"cap": 0, "level": 0, "calm": 0, "cut": 0, "grown": NOW - SECOND, "blocked": 0} | fields))


@pytest.mark.parametrize(
    ("cap", "level", "since", "concurrency"),
    [
        (0, 0, SECOND, 100),  # no trouble was ever heard of
        (50, 100, SECOND, 60),  # 50 + 100 / 10
        (50, 100, SECOND // 2, 55),  # for half a second
        (50, 100, 5 * SECOND, 60),  # a second at once is the most
        (95, 100, SECOND, 100),  # 95 % of the level is reached: 95 + 100 / 20
        (38, 40, SECOND, 40),  # 38 + 40 / 20
        (3, 3, SECOND, 4),  # one at least
        (150, 200, SECOND, 100),  # the settings allow fewer now
    ],
)
def test_a_second_with_successes_lets_more_be_in_flight(cap: int, level: int, since: int, concurrency: int) -> None:
    rate = remembered(cap=cap, level=level, grown=NOW - since)
    assert adapt_concurrency(rate, NOW, CEILING, 1, False) == concurrency
    assert rate.cap == (concurrency if concurrency < CEILING else 0)


def test_without_a_success_nothing_grows() -> None:
    assert adapt_concurrency(remembered(cap=50, level=100), NOW, CEILING, 0, False) == 50


def test_trouble_halves_what_is_in_flight_once_a_second() -> None:
    rate = remembered()
    assert adapt_concurrency(rate, NOW, CEILING, 5, True) == 50
    assert adapt_concurrency(rate, NOW + SECOND // 2, CEILING, 5, True) == 50
    assert adapt_concurrency(rate, NOW + round(CUT_WINDOW * SECOND), CEILING, 0, True) == 25
    assert rate.level == 100  # where it stood before the trouble: nothing has succeeded in between


def test_new_trouble_after_a_calm_counts_from_where_it_stands() -> None:
    rate = remembered(cap=25, level=100)
    assert adapt_concurrency(rate, NOW, CEILING, 1, False) == 35
    assert adapt_concurrency(rate, NOW + SECOND, CEILING, 0, True) == 17
    assert rate.level == 35


def test_at_least_one_call_may_be_in_flight() -> None:
    assert adapt_concurrency(remembered(cap=1, level=100), NOW, CEILING, 0, True) == 1


def test_what_is_blocked_is_not_halved_too() -> None:
    rate = remembered(blocked=NOW + 10 * SECOND)
    assert adapt_concurrency(rate, NOW, CEILING, 0, True) == 50  # the trouble that the block comes from
    assert adapt_concurrency(rate, NOW + 9 * SECOND, CEILING, 0, True) == 50
    assert adapt_concurrency(rate, NOW + 10 * SECOND, CEILING, 0, True) == 25
