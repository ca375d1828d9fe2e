"""The control sample: the rule at every placement of a small review, and the cases that it refuses."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from benchmarks.control_sample import (
    CONTROL,
    ControlReading,
    fewest_missing,
    may_stop,
    most_behind,
)

from tamis_review.quality.certificate import Reading, certify
from tamis_review.quality.sampling_frame import SamplingFrame
from tamis_schemas import StopVerdict

Order = Callable[[int, set[int], frozenset[int]], Iterator[int]]  # records, sample, includes -> places of the order


def by_number(records: int, inside: set[int], includes: frozenset[int]) -> Iterator[int]:
    yield from range(records)


def by_the_sample_among_reached(records: int, inside: set[int], includes: frozenset[int]) -> Iterator[int]:
    """Take the lowest number after a record of the sample, and the highest after another record."""
    left, place = deque(range(records)), 0
    while left:
        place = left.popleft() if place in inside else left.pop()
        yield place


def by_the_sample_among_excludes(records: int, inside: set[int], includes: frozenset[int]) -> Iterator[int]:
    """Know the sample among all excludes, and read its excludes first."""
    yield from sorted(range(records), key=lambda place: (place in includes, place not in inside | includes, place))


def with_the_samples_includes_first(records: int, inside: set[int], includes: frozenset[int]) -> Iterator[int]:
    """Know decisions that the order has not reached: not allowed."""
    yield from sorted(range(records), key=lambda place: not (place in inside and place in includes))


def too_early(records: int, size: int, includes: Iterable[int], recall: float, doubt: float, order: Order) -> Fraction:
    """Return the share of all samples with which people could stop too early, looking after every record."""
    wrong, true = 0, frozenset(includes)
    for drawn in combinations(range(records), size):
        inside = set(drawn)
        included, behind, unread = len(inside & true), len(inside & true), records - size
        for place in order(records, inside, true):
            reading = ControlReading(records, size, included, behind, unread)
            if included < recall * len(true) and reading.promises(recall, doubt):
                wrong += 1
                break
            behind -= place in inside and place in true
            included += place not in inside and place in true
            unread -= place not in inside
    return Fraction(wrong, comb(records, size))


@pytest.mark.parametrize("order", [by_number, by_the_sample_among_reached, by_the_sample_among_excludes])
@pytest.mark.parametrize("recall", [0.5, 0.75, 1.0])
def test_at_every_placement_of_the_includes_at_most_the_doubt_of_all_samples_stops_too_early(
    recall: float, order: Order
) -> None:
    for number in range(7):
        for includes in combinations(range(6), number):
            for size in (2, 4):
                assert too_early(6, size, includes, recall, 0.3, order) <= Fraction("0.3")


def test_the_bound_is_reached_where_the_hypergeometric_probability_equals_the_doubt() -> None:
    # At a recall of 0.75, one of 6 includes may be missing. Two outside 4 of 9 have the probability C(7, 4) / C(9, 4).
    doubt = Fraction(comb(7, 4), comb(9, 4))
    assert too_early(9, 4, range(3, 9), 0.75, float(doubt) + 1e-6, by_number) == doubt


def test_an_order_that_learned_a_decision_that_it_has_not_reached_would_break_the_promise() -> None:
    wrong = [too_early(9, 4, range(6), 0.75, 0.3, order) for order in (by_number, with_the_samples_includes_first)]
    assert wrong[0] <= Fraction("0.3") < wrong[1]


@pytest.mark.parametrize("recall", [0.5, 0.8, 0.95, 0.98, 1.0])
def test_d_is_the_fewest_includes_that_are_missing_from_too_few(recall: float) -> None:
    wanted = Fraction(str(recall))
    for included in range(200):
        totals = (total for total in range(included, 3 * included + 3) if included < wanted * total)
        first = next(totals)
        allowed = max(have for have in range(first + 1) if have < wanted * first)
        assert fewest_missing(included, recall) == first - allowed
        assert fewest_missing(included, recall) <= fewest_missing(included + 1, recall)


def test_more_missing_includes_allow_more_behind_the_order() -> None:
    allowed = [most_behind(200, 1_000, missing, 0.05) for missing in range(1, 40)]
    assert allowed == sorted(allowed)
    assert allowed[0] == -1 < allowed[-1]


ENOUGH = {"records": 1_000, "size": 500, "included": 400, "behind": 2, "unread": 300}


def test_people_may_stop_only_when_the_whole_sample_is_read_and_total_and_records_stay_the_same() -> None:
    assert ControlReading(**ENOUGH).promises(0.95, 0.05)
    assert not ControlReading(**ENOUGH, waiting=1).promises(0.95, 0.05)
    assert not ControlReading(**ENOUGH, changed=1).promises(0.95, 0.05)


@pytest.mark.parametrize("wrong", [{"behind": 401}, {"waiting": 501}, {"size": 1_001}, {"behind": -1}])
def test_impossible_counts_are_no_sample(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="no sample"):
        ControlReading(**{**ENOUGH, **wrong})


def test_the_control_sample_and_later_samples_divide_the_doubt() -> None:
    nothing = Reading(found=400, unread=300)
    assert may_stop(ControlReading(**ENOUGH), nothing)
    assert not may_stop(ControlReading(**ENOUGH, changed=1), nothing)
    assert may_stop(ControlReading(**ENOUGH, changed=1), Reading(found=400, unread=0))
    # At the whole doubt one sample just suffices, at its part it does not.
    just = next(size for size in range(1, 1_000) if most_behind(size, 1_000, fewest_missing(100, 0.95), 0.05) >= 0)
    at_limit = ControlReading(1_000, just, included=100, behind=0, unread=800 - just)
    assert at_limit.promises(0.95, 0.05)
    assert not at_limit.promises(0.95, 0.05 * CONTROL)
    assert not may_stop(at_limit, Reading(found=100, unread=800 - just))


def test_a_later_sample_must_keep_its_own_part_of_the_doubt() -> None:
    """The sample is just long enough for the control sample's part, and later for its own part."""

    def after(read: int) -> Reading:
        return Reading(400, 300 - read, (SamplingFrame(300, (False,) * read, 400),))

    def enough(doubt: float) -> int:
        confidence = 1 - doubt
        return next(n for n in range(300) if certify(after(n), 0.95, confidence).verdict is StopVerdict.ENOUGH)

    changed = ControlReading(**ENOUGH, changed=1)
    short, long = enough(0.05 * CONTROL), enough(0.05 * (1 - CONTROL))
    assert short < long
    assert not may_stop(changed, after(short))
    assert may_stop(changed, after(long))


def test_people_may_stop_when_fewer_records_are_unread_than_must_be_missing() -> None:
    assert not ControlReading(records=10, size=3, included=3, behind=0, unread=1).promises(0.95, 0.05)
    assert ControlReading(records=10, size=3, included=3, behind=0, unread=0).promises(0.95, 0.05)
