"""The noncentral hypergeometric distribution, against draws one after the other and against scipy."""

import random

import pytest

from tamis_producer.quality.finite_population import probability_up_to
from tamis_producer.quality.wallenius import wallenius_up_to


def one_by_one(found: int, sample: int, population: int, kind: int, bias: float) -> float:
    """P(X <= found), draw by draw."""
    shares = {0: 1.0}
    for drawn in range(sample):
        after: dict[int, float] = {}
        for x, share in shares.items():
            inside, outside = (kind - x) * bias, population - kind - (drawn - x)
            for step, weight in ((1, inside), (0, outside)):
                if weight > 0:
                    after[x + step] = after.get(x + step, 0.0) + share * weight / (inside + outside)
        shares = after
    return sum(share for x, share in shares.items() if x <= found)


def test_two_of_three_drawn() -> None:
    # One of the kind, twice as likely as each of two others; two draws. Not drawn: 2/4 * 1/3
    assert wallenius_up_to(0, 2, 3, 1, 2.0) == pytest.approx(1 / 6)


@pytest.mark.parametrize("bias", [0.2, 1.0, 3.0, 40.0])
def test_it_is_the_distribution_of_draws_one_after_the_other(bias: float) -> None:
    draw = random.Random(1)
    for _ in range(30):
        population = draw.randint(1, 60)
        sample, kind = draw.randint(0, population), draw.randint(0, population)
        found = draw.randint(0, population)
        case = (found, sample, population, kind)
        assert wallenius_up_to(*case, bias) == pytest.approx(one_by_one(*case, bias), abs=1e-12), case
        if bias == 1:
            assert wallenius_up_to(*case, bias) == pytest.approx(probability_up_to(*case), abs=1e-9), case


def test_it_is_that_of_scipy_in_large_populations() -> None:
    from scipy.stats import nchypergeom_wallenius

    for case in ((3, 400, 5_000, 60), (40, 900, 20_000, 300), (0, 50, 900, 30), (20, 1_000, 3_000, 25)):
        found, sample, population, kind = case
        for bias in (0.5, 2.0, 10.0):
            wanted = nchypergeom_wallenius.cdf(found, population, kind, sample, bias)
            assert wallenius_up_to(*case, bias) == pytest.approx(wanted, abs=1e-10), (case, bias)


def test_what_is_known_to_lie_above_a_limit_is_not_computed_to_the_end() -> None:
    exact = wallenius_up_to(40, 900, 20_000, 300, 2.0)
    assert 0.01 < wallenius_up_to(40, 900, 20_000, 300, 2.0, above=exact / 10) <= exact
    assert exact / 10 <= wallenius_up_to(40, 900, 20_000, 300, 2.0, above=exact / 10)
