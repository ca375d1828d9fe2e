"""The promise of a recall: verdict, what is missing to it, what it costs, and where it cannot be given."""

import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.quality.certificate import (
    DoubleRead,
    Reading,
    certify,
    most_true_includes,
    price_list,
    records_needed,
)
from tamis_review.quality.sampling_frame import SamplingFrame
from tamis_schemas import InvalidParameters, StopVerdict


def sampled(read: int, *, unread: int = 1_000, found: int = 40) -> Reading:
    """A review with 40 includes found when the rest of 1,000 was put into a frame; so many of it read, none found."""
    return Reading(found, unread - read, (SamplingFrame(unread, (False,) * read, found),))


def test_a_worked_example() -> None:
    # 40 found, recall 0.9: 40 / 0.9 = 44.4, so four may be missed and five must be given up. The first frame may spend
    # 0.05 / 2, no find half of that, 0.0125: C(1000 - n, 5) / C(1000, 5) is 0.01258 with n = 582, 0.01243 with n = 583.
    ways = comb(1_000, 5)
    assert comb(418, 5) / ways > 0.0125 >= comb(417, 5) / ways
    assert certify(Reading(40, 1_000), 0.9).needed[0] == 583
    almost, enough = certify(sampled(582), 0.9), certify(sampled(583), 0.9)
    assert (almost.verdict, almost.needed[0], almost.missed) == (StopVerdict.NOT_YET, 1, 5)
    assert (enough.verdict, enough.needed, enough.missed, enough.includes) == (StopVerdict.ENOUGH, (), 4, 44)
    assert enough.promised == pytest.approx(40 / 44)


def test_a_find_in_the_sample_costs_more_and_the_price_is_told_before() -> None:
    now = certify(sampled(100), 0.9)
    assert list(now.needed) == sorted(now.needed)
    assert len(now.needed) == 4
    # The include lies at place 150; what was said of one further find is what it takes.
    after = Reading(41, 850, (SamplingFrame(1_000, (False,) * 149 + (True,), 40),))
    assert records_needed(after, 0.9) == now.needed[1] - 50


def test_includes_found_beside_the_sample_count_as_found() -> None:
    frame = SamplingFrame(1_000, (False,) * 400, 40)
    before = certify(Reading(40, 600, (frame,)), 0.9)
    after = certify(Reading(43, 500, (frame,)), 0.9)
    assert after.includes == before.includes
    assert after.missed == before.missed - 3
    assert after.promised > before.promised


def test_each_frame_bounds_all_includes_and_the_best_bound_counts() -> None:
    first = SamplingFrame(1_000, (False,) * 583, 40)
    useless = replace(sampled(583), frames=(first, SamplingFrame(417, (), 40)))
    assert certify(useless, 0.9).verdict is StopVerdict.ENOUGH
    # Records that are no part of a frame may be includes, each of them.
    with_others = replace(useless, unread=517, frames=(replace(first, unread_outside=100),))
    assert certify(with_others, 0.9).missed == 104
    # With 100 found 11 may be missed. Two records outside leave nine for the frame, and with twelve it is in vain.
    others = [Reading(100, 1_000 + beside, (SamplingFrame(1_000, (), 100, beside),)) for beside in (0, 2, 12)]
    nine = Reading(85, 1_000)  # 85 / 0.9 = 94.4
    nothing_outside, two_outside, twelve_outside = (records_needed(one, 0.9) for one in others)
    assert nothing_outside < two_outside == records_needed(nine, 0.9)
    assert twelve_outside == 1_012


def test_a_bound_that_is_seen_to_be_wrong_leaves_nothing_missed() -> None:
    """Whatever was promised: of six found beside the sample two are more than the bound of four."""
    broken = certify(replace(sampled(583), found=46), 0.9)
    assert (broken.missed, broken.includes, broken.promised) == (0, 46, 1.0)


def test_as_many_records_are_needed_as_are_to_hold_the_finds() -> None:
    assert all(needed >= further for further, needed in enumerate(certify(Reading(90, 11), 0.9, 0.2).needed))


def test_another_frame_has_a_smaller_part_of_the_doubt() -> None:
    fresh = Reading(40, 1_000)
    one = fresh.with_new_frame()
    two = one.with_new_frame()
    assert records_needed(fresh, 0.9) == records_needed(one, 0.9) == 583
    # 0.05 / 6 / 2 = 0.00417: C(1000 - n, 5) / C(1000, 5) falls below it with n = 665
    assert comb(336, 5) / comb(1_000, 5) > 0.05 / 12 >= comb(335, 5) / comb(1_000, 5)
    assert records_needed(two, 0.9) == 665


def test_who_has_read_everything_needs_no_sample() -> None:
    for found in (0, 7):
        whole = certify(Reading(found, 0), 1.0, 0.99)
        assert (whole.verdict, whole.missed, whole.promised) == (StopVerdict.ENOUGH, 0, 1.0)


def test_a_recall_that_is_met_whatever_the_unread_are_is_enough_at_once() -> None:
    assert certify(Reading(90, 10), 0.9).verdict is StopVerdict.ENOUGH
    assert certify(Reading(90, 11), 0.9).verdict is StopVerdict.NOT_YET


def test_of_nothing_found_a_recall_is_promised_only_where_nothing_can_be_missed() -> None:
    # One include must be given up: (1000 - n) / 1000 <= 0.0125, n = 988 (987.5)
    nothing = certify(Reading(0, 1_000), 0.8)
    assert nothing.needed[0] == 988
    end = certify(Reading(0, 12, (SamplingFrame(1_000, (False,) * 988, 0),)), 0.8)
    assert (end.verdict, end.missed, end.promised) == (StopVerdict.ENOUGH, 0, 1.0)


def test_a_share_of_as_many_as_are_needed_is_exact() -> None:
    # 19 of 20 is 0.95, though 19 / 0.95 is 20.000000000000004 or 19.999999999999996 as rounding has it
    assert certify(Reading(19, 1), 0.95).verdict is StopVerdict.ENOUGH
    assert certify(Reading(7, 3), 0.7).verdict is StopVerdict.ENOUGH


def test_a_reader_who_overlooks_too_much_is_told_why_nothing_can_be_promised() -> None:
    alone = certify(Reading(100, 500, (), DoubleRead(60, 6)), 0.95)
    assert alone.verdict is StopVerdict.IMPOSSIBLE
    assert alone.reason is not None
    assert "of 60 includes that two people read, 6 were missed by one of them" in alone.reason
    assert alone.needed == ()
    pairs = certify(Reading(300, 0, (), DoubleRead(300, 20), readers=2), 0.95)
    assert (pairs.verdict, pairs.missed) == (StopVerdict.ENOUGH, 0)
    assert 300 < (pairs.includes or 0) < 315
    assert pairs.promised == pytest.approx(300 / (pairs.includes or 0))
    prices = [one for one in price_list(Reading(100, 500, (), DoubleRead(60, 6))) if one.recall == 0.95]
    assert [one.none_found for one in prices] == [None] * 4


def test_what_is_overlooked_takes_part_of_the_doubt_and_of_the_recall() -> None:
    reading = Reading(200, 2_000)
    measured = replace(reading, double_read=DoubleRead(200, 4), readers=2)
    assert records_needed(measured, 0.95) > records_needed(reading, 0.95)
    # The first frame may spend 0.8 * 0.05 / 2 of it, as if the confidence were 0.96; the miss rate a tenth of 0.05.
    rate = DoubleRead(200, 4).miss_rate(0.995, readers=2)
    found = certify(measured, 0.95)
    assert found.miss_rate == rate
    seen = next(seen for seen in range(210, 200, -1) if (most_true_includes(seen, rate, 0.005) or 0) <= 200 / 0.95)
    same = Reading(200, 2_000, (SamplingFrame(2_000, (), 200),))
    assert found.needed[0] == same.frames[0].needed(seen - 200, 0.8 * 0.05 / 2)
    unknown = certify(replace(reading, double_read=DoubleRead(0, 0)), 0.5)
    assert (unknown.verdict, unknown.includes, unknown.promised) == (StopVerdict.IMPOSSIBLE, None, 0.0)


def test_the_price_list_has_each_promise_and_grows_with_it() -> None:
    prices = price_list(Reading(100, 5_000), expected=4.0)
    assert [(one.recall, one.confidence) for one in prices][:5] == [
        (0.8, 0.8),
        (0.8, 0.9),
        (0.8, 0.95),
        (0.8, 0.99),
        (0.9, 0.8),
    ]
    assert len(prices) == 20
    for one in prices:
        assert one.none_found is not None
        assert one.as_expected is not None
        assert one.none_found == records_needed(Reading(100, 5_000), one.recall, one.confidence)
        assert one.none_found <= one.as_expected <= 5_000
        assert one.finds == pytest.approx(4 * one.as_expected / 5_000, abs=1)
    for cheap, dear in zip(prices, prices[4:], strict=False):
        assert (cheap.none_found or 0) < (dear.none_found or 0)
    assert {one.as_expected for one in price_list(Reading(100, 5_000))} == {None}
    assert price_list(Reading(100, 0), 0.0)[-1].none_found == 0


def test_the_documented_prices_and_rates_are_those_that_are_computed() -> None:
    text = (Path(__file__).parents[4] / "docs" / "quality.md").read_text("utf-8")
    for found in (20, 100):
        needed = certify(Reading(found, 5_000)).needed
        assert f"| {found:,} | {' | '.join(f'{one:,}' for one in needed)} |" in text
    # "Then a reader may overlook up to 8.1 %, and a pair up to 0.6 %. A pair can be promised 97.1 % recall"
    pairs = certify(Reading(100, 0, (), DoubleRead(100, 6), readers=2))
    assert DoubleRead(100, 6).miss_rate(0.995) == pytest.approx(0.081, abs=5e-4)
    assert pairs.miss_rate == pytest.approx(0.006, abs=5e-4)
    assert pairs.promised == pytest.approx(0.971, abs=5e-4)
    assert certify(Reading(100, 0, (), DoubleRead(100, 6))).verdict is StopVerdict.IMPOSSIBLE


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 60), st.integers(0, 400), st.floats(0.5, 1.0), st.floats(0.5, 0.99), st.data())
def test_more_found_more_read_and_less_asked_never_make_it_dearer(
    found: int, unread: int, recall: float, confidence: float, data: st.DataObject
) -> None:
    reading = Reading(found, unread).with_new_frame()
    needed = records_needed(reading, recall, confidence)
    assert needed <= unread
    assert records_needed(reading, recall * 0.9, confidence) <= needed
    assert records_needed(reading, recall, confidence * 0.9) <= needed
    more = replace(reading, found=found + 1, frames=(SamplingFrame(unread, (), found + 1),))
    assert records_needed(more, recall, confidence) <= needed
    read = data.draw(st.integers(0, needed))
    there = replace(reading, unread=unread - read, frames=(SamplingFrame(unread, (False,) * read, found),))
    certificate = certify(there, recall, confidence)
    assert (certificate.verdict is StopVerdict.ENOUGH) == (read == needed)
    assert certificate.verdict is not StopVerdict.ENOUGH or certificate.promised >= recall - 1e-12


def test_teams_that_stop_at_the_first_chance_break_the_promise_in_at_most_the_doubt_of_all_orders() -> None:
    """Every order of a rest of seven records; after the first find what is unread is put into a new one.

    Two are found before; wanted is a recall of 0.7 with a confidence of 0.6.
    """
    for kind in range(8):
        broken = [_missed(places, kind) for places in combinations(range(7), kind)]
        assert sum(broken) <= Fraction(2, 5) * len(broken), kind


def _missed(includes: tuple[int, ...], kind: int) -> Fraction:
    """The share of the second orders after which a team that stops at the first chance has found too few."""
    found = 2 + len(includes[:1])
    read = includes[0] + 1 if includes else 7
    for look in range(read):
        if not records_needed(Reading(2, 7 - look, (SamplingFrame(7, (False,) * look, 2),)), 0.7, 0.6):
            return Fraction(Fraction(2, 2 + kind) < Fraction(7, 10))
    first = SamplingFrame(7, tuple(place in includes for place in range(read)), 2)
    broken = orders = 0
    for places in combinations(range(7 - read), max(0, kind - 1)):
        orders += 1
        for look in range(7 - read + 1):
            sample = tuple(place in places for place in range(look))
            more = found + sum(sample)
            reading = Reading(more, 7 - read - look, (first, SamplingFrame(7 - read, sample, found)))
            if not records_needed(reading, 0.7, 0.6):
                broken += Fraction(more, 2 + kind) < Fraction(7, 10)
                break
    return Fraction(broken, orders)


def test_readers_who_overlook_includes_break_it_no_more_often() -> None:
    """500 reviews in which everything is read by two people, who overlook one include in ten each."""
    draw = random.Random(1)
    broken = promised = 0
    for _ in range(500):
        seen = [(draw.random() >= 0.1, draw.random() >= 0.1) for _ in range(80)]
        found = sum(first or second for first, second in seen)
        by_one = sum(first != second for first, second in seen)
        certificate = certify(Reading(found, 0, (), DoubleRead(found, by_one), readers=2), 0.9, 0.8)
        promised += certificate.verdict is StopVerdict.ENOUGH
        broken += found / 80 < certificate.promised
    assert promised > 250
    assert broken <= 0.2 * 500


@pytest.mark.parametrize(("recall", "confidence"), [(0.0, 0.95), (1.01, 0.95), (0.95, 0.0), (0.95, 1.0)])
def test_what_is_no_promise_is_refused(recall: float, confidence: float) -> None:
    with pytest.raises(InvalidParameters, match="is not between 0 and 1"):
        certify(Reading(1, 1), recall, confidence)


def test_what_is_no_reading_is_refused() -> None:
    with pytest.raises(ValueError, match="never negative"):
        Reading(-1, 3)
    with pytest.raises(ValueError, match="read nothing"):
        Reading(1, 3, readers=0)
