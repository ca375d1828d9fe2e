"""The bound on the includes of a sampling frame: worked out, enumerated, and looked at after every record."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb, exp, lgamma

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.quality.exact import log_comb, most_in_population
from tamis_review.quality.sampling_frame import SPENDING, SamplingFrame, _boundaries, frame_doubt


def frame(population: int, *finds: int, read: int) -> SamplingFrame:
    """A frame whose sample has includes at these places, counted from 1."""
    return SamplingFrame(population, tuple(place in finds for place in range(1, read + 1)), found_outside=0)


@pytest.mark.parametrize(
    ("population", "finds", "read", "most"),
    [
        # a doubt of 0.1, of which no find may spend 0.05: C(10-n, K) / C(10, K). n = 5: K = 3: 10/120 = 0.083,
        # K = 4: 5/210 = 0.024
        (10, (), 5, 3),
        # n = 6: K = 2: C(4,2)/C(10,2) = 6/45 = 0.133, K = 3: 4/120 = 0.033
        (10, (), 6, 2),
        # nothing was looked at: anything is possible; everything was: nothing else is
        (10, (), 0, 10),
        (10, (), 10, 0),
        (10, (3, 7), 10, 2),
        # one find may spend 0.1 / 6 = 0.0167. K = 4: without a find n = 5 as above, so c(0) = 5; with one
        # C(5,1) C(10-n,3) / 210: n = 7: 5 * 1 / 210 = 0.0238, n = 8: 0
        (10, (2,), 7, 4),
        # K = 3: c(0) = 6, with one find 6 C(10-n,2) / 120: n = 8: 6 * 1 / 120 = 0.05
        (10, (2,), 8, 3),
        # K = 5: c(0) = 4, for C(6,5) / 252 = 0.024; with one find 4 C(10-n,4) / 252: n = 6: 4 * 1 / 252 = 0.0159
        (10, (2,), 6, 4),
        (10, (2,), 5, 5),
    ],
)
def test_worked_examples(population: int, finds: Sequence[int], read: int, most: int) -> None:
    assert frame(population, *finds, read=read).most(0.1) == most


def test_what_was_given_up_before_a_find_stays_given_up() -> None:
    # After 5 records without an include K = 4 is given up (above). An include at place 6 does not bring it back, as one
    # at place 2 would leave it possible.
    assert frame(10, 6, read=6).most(0.1) == 3
    assert frame(10, 2, read=6).most(0.1) == 4


@pytest.mark.parametrize("doubt", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("population", [1, 2, 5, 8, 10])
def test_the_bound_fails_at_any_look_in_at_most_its_doubt_of_all_orders(population: int, doubt: float) -> None:
    """Every order of every number of includes, looked at after every record."""
    for kind in range(population + 1):
        failed = 0
        for places in combinations(range(1, population + 1), kind):
            failed += any(frame(population, *places, read=read).most(doubt) < kind for read in range(population + 1))
        assert Fraction(failed, comb(population, kind)) <= Fraction(doubt), kind


def test_looking_only_at_the_end_would_allow_less_to_be_read_and_looking_at_it_always_would_not() -> None:
    """The bound of one look, looked at after every record, breaks its promise: the price of looking is no formality."""
    worst = 0.0
    for kind in range(1, 11):
        failed = sum(
            any(
                most_in_population(sum(place < read for place in places), read, 10, 0.8) < kind for read in range(1, 11)
            )
            for places in combinations(range(10), kind)
        )
        worst = max(worst, failed / comb(10, kind))
    assert worst > 0.2


@st.composite
def samples(draw: st.DrawFn) -> SamplingFrame:
    population = draw(st.integers(1, 300))
    labels = draw(st.lists(st.booleans() | st.just(value=False), max_size=population))
    return SamplingFrame(population, tuple(labels), found_outside=draw(st.integers(0, 50)))


DOUBTS = st.floats(0.001, 0.5)


@settings(max_examples=60, deadline=None)
@given(samples(), DOUBTS)
def test_it_never_rises_while_the_sample_grows_and_never_falls_with_less_doubt(
    one: SamplingFrame, doubt: float
) -> None:
    most = one.most(doubt)
    assert one.found <= most <= one.population - (one.read - one.found)
    assert one.most(doubt / 2) >= most
    if one.sample:
        shorter = SamplingFrame(one.population, one.sample[:-1], one.found_outside)
        assert most <= max(shorter.most(doubt), one.found)
        assert one.includes(doubt) == most + one.found_outside


@settings(max_examples=60, deadline=None)
@given(samples(), DOUBTS)
def test_it_is_no_better_than_the_bound_of_one_look(one: SamplingFrame, doubt: float) -> None:
    level = 1 - doubt
    ends = [
        SamplingFrame(one.population, one.sample[:read], 0)
        for read in range(one.read + 1)
        if read == one.read or one.sample[read]
    ]
    single = [most_in_population(end.found, end.read, one.population, level) for end in ends]
    assert one.most(doubt) >= max(one.found, min(single))


@settings(max_examples=60, deadline=None)
@given(samples(), DOUBTS, st.integers(0, 3), st.integers(0, 40))
def test_the_records_needed_are_the_first_with_which_the_bound_is_low_enough(
    one: SamplingFrame, doubt: float, further: int, room: int
) -> None:
    most = one.found + further + room
    needed = one.needed(most, doubt, further)
    if needed > one.population:
        assert most < one.found + further
        return

    def after(read: int) -> int:
        ahead = read - one.read
        return SamplingFrame(one.population, (*one.sample, *(place < further for place in range(ahead))), 0).most(doubt)

    if needed - one.read >= further:
        assert after(needed) <= most
    if needed - 1 - one.read >= further:
        assert after(needed - 1) > most


@pytest.mark.parametrize("doubt", [0.01, 0.1, 0.4])
def test_what_is_given_up_for_a_number_is_given_up_for_every_larger_one(doubt: float) -> None:
    """The moments fall as the number grows, and none lies before the place where so many finds are expected."""
    for population in range(1, 26):
        moments = [
            [population + 1] * 26,
            *(list(_boundaries(population, kind, doubt)) for kind in range(1, population)),
        ]
        for kind, (smaller, larger) in enumerate(pairwise(moments)):
            assert all(one >= other for one, other in zip(smaller, larger, strict=False))
            assert all(place * (kind + 2) >= finds * (population + 1) for finds, place in enumerate(larger))
            assert list(larger) == sorted(larger)


def test_it_costs_less_than_the_ratio_of_prior_and_posterior() -> None:
    """5,000 unread, 100 found, a recall of 0.95: five may be missed, and after a find in the sample still five."""

    def ratio(kind: int, finds: int, read: int) -> float:
        """Half of the prior at none, the rest beta-binomial with 1 and 1,000; over the likelihood of `kind`."""
        likelihood = log_comb(5_000 - read, kind - finds) - log_comb(5_000, kind)
        beta = lgamma(1 + finds) + lgamma(1_000 + read - finds) - lgamma(1_001 + read) - lgamma(1_000) + lgamma(1_001)
        return (exp(beta) / 2 + (finds == 0) / 2) / exp(likelihood)

    for finds, kind, parts, theirs in ((0, 6, 0.459, 0.434), (1, 7, 0.622, 0.689), (2, 8, 0.722, 0.757)):
        sample = frame(5_000, *range(1, finds + 1), read=finds)
        assert sample.needed(kind - 1, 0.05) / 5_000 == pytest.approx(parts, abs=0.002)
        expected = finds * 5_001 // (kind + 1)
        enough = next(read for read in range(expected, 5_001) if ratio(kind, finds, read) >= 1 / 0.05)
        assert enough / 5_000 == pytest.approx(theirs, abs=0.002)


def test_fifty_thousand_records_are_no_obstacle() -> None:
    one = frame(50_000, *range(40, 4_000, 40), read=4_000)
    assert 1_240 < one.most(0.025) < 1_850  # 99 in 4,000 are 1,238 in 50,000


def test_frames_share_the_doubt_as_the_sentence_says() -> None:
    assert [frame_doubt(0.08, number) for number in (1, 2, 3)] == pytest.approx([0.04, 0.08 / 6, 0.08 / 12])
    # 1/2 + 1/6 + ... + 1/(j (j + 1)) = 1 - 1/(j + 1)
    assert sum(frame_doubt(0.08, number) for number in range(1, 1_000)) == pytest.approx(0.08 * (1 - 1 / 1_000))
    assert "the part 1 / (j (j + 1))" in SPENDING


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SamplingFrame(2, (False,) * 3, 0),
        lambda: SamplingFrame(-1, (), 0),
        lambda: SamplingFrame(2, (), -1),
        lambda: SamplingFrame(2, (), 0, unread_outside=-1),
    ],
)
def test_what_is_no_frame_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"no sample|never negative"):
        wrong()  # type: ignore[operator]
