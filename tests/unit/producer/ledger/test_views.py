"""The pace, and the time to go that follows from it, of batches whose calls all take the same time."""

import random
from itertools import product

import pytest

from tamis_producer.ledger.views import WINDOW, pace


@pytest.mark.parametrize(
    ("ends", "now", "call", "expected"),
    [
        # The demonstration: 6 s of start, 1 call alone, then 4 at once, 0.7 s each. (5 - 1) / (7.4 - 6.7) = 4 / 0.7
        ([6.7, 7.4, 7.4, 7.4, 7.4], 7.4, 0.7, 4 / 0.7),
        # The same just before the next four end: (8.1 - 6.7) / 2 = 0.7
        ([6.7, 7.4, 7.4, 7.4, 7.4], 8.1, 0.7, 4 / 0.7),
        # The same where the endpoint answers no more: (26.7 - 6.7) / 2 = 10
        ([6.7, 7.4, 7.4, 7.4, 7.4], 26.7, 0.7, 4 / 10),
        # No call alone: the four that begin together end together, and took the time of one call. (4 - 1) / 2
        ([9.0, 9.0, 9.0, 9.0], 9.1, 2.0, 3 / 2),
        # One after the other: (3 - 1) / (12 - 8)
        ([8.0, 10.0, 12.0], 12.5, 2.0, 2 / 4),
    ],
)
def test_the_pace_is_that_of_the_results_after_the_first(
    ends: list[float], now: float, call: float, expected: float
) -> None:
    assert pace(len(ends), max(ends) - min(ends), now - min(ends), call) == pytest.approx(expected)


def test_the_first_of_many_calls_show_no_pace_for_some_minutes() -> None:
    assert pace(3, 0.5, 1.0, 2.0, running=8) is None
    assert pace(9, 2.0, 2.5, 2.0, running=8) == pytest.approx(8 / 2)
    assert pace(5, 290.0, WINDOW / 2, 900.0, running=8) == pytest.approx(4 / 900)  # slow calls: it is known at last


def test_of_one_result_and_of_none_nothing_is_said() -> None:
    assert pace(0, None, None, None) is None
    assert pace(1, 0.0, 3.0, 0.7) is None
    assert pace(2, 0.0, 0.0, None) is None  # two from the cache in one transaction


def ends_of(n: int, *, start: float, alone: bool, at_once: int, call: float) -> list[float]:
    """When each of `n` items ends, of which so many are asked about at once; the first alone, where that is so."""
    first = [start + call] if alone else []
    begun = start + call * len(first)
    return first + [begun + call * (1 + place // at_once) for place in range(n - len(first))]


@pytest.mark.parametrize(("n", "alone"), list(product((21, 200), (True, False))))
def test_after_five_records_the_time_to_go_is_off_by_a_factor_of_two_or_by_one_call_at_most(
    n: int, alone: bool
) -> None:
    call = 0.7
    for start, at_once in product((0.0, 6.0, 60.0), (1, 2, 3, 4)):
        ends = ends_of(n, start=start, alone=alone, at_once=at_once, call=call)
        for tenth in range(int(ends[4] * 10) + 1, int(ends[-1] * 10)):
            now = tenth / 10
            ended = [end for end in ends if end <= now]
            rate = pace(len(ended), ended[-1] - ended[0], now - ended[0], call)
            assert rate is not None
            shown, true = (n - len(ended)) / rate, ends[-1] - now
            assert true / 2 - call <= shown <= true * 2 + call, (start, at_once, now, shown, true)


@pytest.mark.parametrize("at_once", [4, 8, 32, 64])
def test_the_first_time_to_go_is_right_within_a_factor_of_two_however_many_calls_run_at_once(at_once: int) -> None:
    drawn = random.Random(at_once)
    free, ends, calls = [0.0] * at_once, [], []
    for _ in range(10 * at_once):
        calls.append(drawn.uniform(0.5, 1.5))
        begun = min(free)
        free[free.index(begun)] = begun + calls[-1]
        ends.append(begun + calls[-1])
    ends.sort()
    shown = 0
    for done, now in enumerate(ends[: len(ends) // 2], 1):
        rate = pace(done, now - ends[0], now - ends[0], min(calls), running=at_once)
        if rate is not None:
            shown += 1
            assert 1 / 2 <= (len(ends) - done) / rate / (ends[-1] - now) <= 2, done
    assert shown > 3 * at_once
