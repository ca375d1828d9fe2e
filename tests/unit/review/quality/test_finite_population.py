"""The bound on what a finite population holds, against every sample that could be drawn."""

from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_review.quality.exact import most_in_population, probability_up_to, upper_bound


def probability(found: int, sample: int, population: int, kind: int) -> Fraction:
    """That a sample holds `found` or fewer, by counting the samples one by one."""
    samples = [sum(place < kind for place in drawn) for drawn in combinations(range(population), sample)]
    return Fraction(sum(held <= found for held in samples), len(samples))


def test_the_bound_is_the_largest_number_that_brute_force_leaves_possible() -> None:
    for population in range(1, 10):
        for sample in range(population + 1):
            for found in range(sample + 1):
                possible = [
                    kind
                    for kind in range(found, population - (sample - found) + 1)
                    if probability(found, sample, population, kind) > Fraction(5, 100)
                ]
                assert most_in_population(found, sample, population) == max(possible), (found, sample, population)


@pytest.mark.parametrize(
    ("found", "sample", "population", "most"),
    [
        # none of 10 found in 5: C(10-K, 5) / C(10, 5); K = 3: 21 / 252 = 0.083, K = 4: 6 / 252 = 0.024
        (0, 5, 10, 3),
        # all looked at: nothing is left open
        (0, 10, 10, 0),
        (4, 10, 10, 4),
        # none looked at: everything is
        (0, 0, 10, 10),
        # only includes found: all may be
        (5, 5, 10, 10),
        # by the rule of three 3/50, 60 of 1,000; exactly: C(944, 50) / C(1000, 50) = 0.0520, C(943, 50) / ... = 0.0492
        (0, 50, 1000, 56),
    ],
)
def test_worked_examples(found: int, sample: int, population: int, most: int) -> None:
    assert most_in_population(found, sample, population) == most


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize(("population", "sample"), [(20, 5), (60, 20), (200, 50), (500, 30)])
def test_whatever_the_truth_is_the_bound_holds_in_at_least_its_share_of_all_samples(
    population: int, sample: int, level: float
) -> None:
    bounds = [most_in_population(found, sample, population, level) for found in range(sample + 1)]
    samples = comb(population, sample)
    for kind in range(population + 1):
        held = sum(
            comb(kind, found) * comb(population - kind, sample - found)
            for found in range(max(0, sample - population + kind), min(kind, sample) + 1)
            if bounds[found] >= kind
        )
        assert Fraction(held, samples) >= Fraction(str(level)), kind


@st.composite
def drawn(draw: st.DrawFn) -> tuple[int, int, int]:
    population = draw(st.integers(1, 3000))
    sample = draw(st.integers(0, population))
    return draw(st.integers(0, sample)), sample, population


@given(drawn())
def test_it_lies_between_what_was_found_and_what_was_not_ruled_out(case: tuple[int, int, int]) -> None:
    found, sample, population = case
    assert found <= most_in_population(found, sample, population) <= population - (sample - found)


@given(drawn())
def test_a_higher_level_and_another_include_found_never_lower_it(case: tuple[int, int, int]) -> None:
    found, sample, population = case
    most = most_in_population(found, sample, population)
    assert most_in_population(found, sample, population, 0.99) >= most
    if found < sample:
        assert most_in_population(found + 1, sample, population) >= most


@given(drawn())
def test_the_binomial_bound_is_wider(case: tuple[int, int, int]) -> None:
    found, sample, population = case
    if sample:
        assert most_in_population(found, sample, population) <= upper_bound(found, sample) * population + 1e-6


@pytest.mark.parametrize(("found", "sample", "population"), [(-1, 5, 10), (6, 5, 10), (1, 11, 10)])
def test_what_is_no_sample_is_refused(found: int, sample: int, population: int) -> None:
    with pytest.raises(ValueError, match="is no sample"):
        most_in_population(found, sample, population)


def test_a_level_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        most_in_population(0, 5, 10, 1.0)


def test_a_probability_that_is_known_to_reach_a_limit_is_not_summed_to_the_end() -> None:
    exact = probability_up_to(40, 1_000, 20_000, 1_000)
    assert 0.1 <= probability_up_to(40, 1_000, 20_000, 1_000, above=0.1 * exact) / exact < 0.9
    assert probability_up_to(40, 1_000, 20_000, 1_000, above=2 * exact) == exact
