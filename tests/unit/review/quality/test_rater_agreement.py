"""Kappa and AC1: their arithmetic, their laws, and statsmodels.

The libraries that the figures are held against load for seconds: each test imports its own, and collecting none.
"""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.quality.agreement import agreement

PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=80)


def table(both: int, first: int, second: int, neither: int) -> list[tuple[str, str]]:
    """Pairs of a 2 x 2 table: included by both, by the first alone, by the second alone, by neither."""
    yes, no = "include", "exclude"
    return [(yes, yes)] * both + [(yes, no)] * first + [(no, yes)] * second + [(no, no)] * neither


@pytest.mark.parametrize(
    ("cells", "kappa", "ac1"),
    [
        # po = (20 + 65) / 100 = 0.85; includes 0.3 and 0.25.
        # kappa: pe = 0.3 * 0.25 + 0.7 * 0.75 = 0.6; (0.85 - 0.6) / 0.4 = 0.625
        # AC1: m = 0.275; pe = 2 * 0.275 * 0.725 = 0.39875; (0.85 - 0.39875) / 0.60125 = 0.750519...
        ((20, 10, 5, 65), 0.625, 0.45125 / 0.60125),
        # The paradox: as much agreement, but hardly an include. po = (1 + 94) / 100 = 0.95; includes 0.04 and 0.03.
        # kappa: pe = 0.04 * 0.03 + 0.96 * 0.97 = 0.9324; (0.95 - 0.9324) / 0.0676 = 0.260355...
        # AC1: m = 0.035; pe = 2 * 0.035 * 0.965 = 0.06755; (0.95 - 0.06755) / 0.93245 = 0.946378...
        ((1, 3, 2, 94), 0.0176 / 0.0676, 0.88245 / 0.93245),
        # Less agreement than chance: po = 0; kappa: pe = 0.5; -1. AC1: pe = 0.5; -1.
        ((0, 5, 5, 0), -1.0, -1.0),
        # Perfect: po = 1.
        ((5, 0, 0, 5), 1.0, 1.0),
    ],
)
def test_the_arithmetic_written_out(cells: tuple[int, int, int, int], kappa: float, ac1: float) -> None:
    found = agreement(table(*cells))
    assert found.kappa == pytest.approx(kappa, abs=1e-12)
    assert found.ac1 == pytest.approx(ac1, abs=1e-12)


@settings(max_examples=40)
@given(PAIRS)
def test_kappa_and_its_interval_are_those_of_statsmodels_and_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    import numpy as np
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import cohens_kappa

    found = agreement(pairs)
    if found.kappa is None:
        assert len({name for pair in pairs for name in pair}) == 1
        return
    counts = [[pairs.count((one, other)) for other in "abc"] for one in "abc"]
    with np.errstate(all="ignore"):  # its test statistic, which is none of ours, divides by 0 here and there
        theirs = cohens_kappa(counts)
    assert found.kappa == pytest.approx(theirs.kappa, abs=1e-9)
    assert found.kappa == pytest.approx(cohen_kappa_score(*zip(*pairs, strict=True)), abs=1e-9)
    if len({name for pair in pairs for name in pair}) == 2:
        return  # of two categories the interval is another one: test_agreement_interval.py
    if theirs.var_kappa < 1e-12:  # 0, which rounding left a hair beside
        assert found.kappa_high - found.kappa_low < 1e-6
        return
    assert found.kappa_low == pytest.approx(max(-1, theirs.kappa_low), abs=1e-9)
    assert found.kappa_high == pytest.approx(min(1, theirs.kappa_upp), abs=1e-9)


@settings(max_examples=20)
@given(PAIRS)
def test_who_is_first_does_not_matter(pairs: list[tuple[str, str]]) -> None:
    one, other = agreement(pairs), agreement([(b, a) for a, b in pairs])
    for name in ("observed", "kappa", "kappa_low", "kappa_high", "ac1", "ac1_low", "ac1_high"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-4), name


@settings(max_examples=20)
@given(PAIRS)
def test_figures_lie_between_minus_one_and_one_and_within_their_intervals(pairs: list[tuple[str, str]]) -> None:
    found = agreement(pairs)
    for value, low, high, why in (
        (found.kappa, found.kappa_low, found.kappa_high, found.no_kappa),
        (found.ac1, found.ac1_low, found.ac1_high, found.no_ac1),
    ):
        assert (value is None) == (why is not None)
        if value is not None:
            assert -1 - 1e-9 <= low - 1e-9 <= value <= high + 1e-9 <= 1 + 2e-9


def test_the_interval_of_ac1_is_that_of_the_delta_method_by_small_differences() -> None:
    """The variance of a smooth function of multinomial shares, its slopes measured instead of derived; of three
    categories, one of which nobody used."""
    counts = {("include", "include"): 20, ("include", "exclude"): 10, ("exclude", "include"): 5}
    counts["exclude", "exclude"] = 65
    n, step = 100, 1e-6

    def ac1(shares: dict[tuple[str, str], float]) -> float:
        whole = sum(shares.values())
        observed = (shares["include", "include"] + shares["exclude", "exclude"]) / whole
        mean = shares["include", "include"] + (shares["include", "exclude"] + shares["exclude", "include"]) / 2
        chance = 2 * mean / whole * (1 - mean / whole) / (3 - 1)
        return (observed - chance) / (1 - chance)

    shares = {cell: count / n for cell, count in counts.items()}
    slopes = {
        cell: (ac1(shares | {cell: share + step}) - ac1(shares | {cell: share - step})) / (2 * step)
        for cell, share in shares.items()
    }
    mean = sum(shares[cell] * slope for cell, slope in slopes.items())
    variance = sum(shares[cell] * (slope - mean) ** 2 for cell, slope in slopes.items()) / n
    found = agreement(table(20, 10, 5, 65), categories=("include", "exclude", "unclear"))
    assert found.ac1_low == pytest.approx(ac1(shares) - 1.959963984540054 * math.sqrt(variance), abs=1e-7)
    assert found.ac1_high == pytest.approx(ac1(shares) + 1.959963984540054 * math.sqrt(variance), abs=1e-7)


def test_records_of_one_category_have_no_kappa_and_ac1_needs_to_know_the_others() -> None:
    alone = agreement([("exclude", "exclude")] * 9)
    assert (alone.kappa, alone.ac1) == (None, None)
    assert alone.no_kappa is not None
    assert alone.no_ac1 is not None
    known = agreement([("exclude", "exclude")] * 9, categories=("include", "exclude"))
    assert known.kappa is None
    assert known.ac1 == 1.0  # m(include) = 0, so pe = 0 and AC1 = po = 1


def test_no_records_have_no_figures() -> None:
    none = agreement([])
    assert (none.n, none.observed, none.kappa, none.ac1) == (0, None, None, None)
    assert none.no_kappa == none.no_ac1 == "no record was judged by both"


def test_the_table_has_every_cell_and_the_known_categories_come_first() -> None:
    found = agreement(
        [("include", "exclude"), ("include", "uncertain"), ("include", "exclude")], categories=("include", "exclude")
    )
    assert [(cell.first_said, cell.second_said, cell.n) for cell in found.cells] == [
        ("include", "include", 0),
        ("include", "exclude", 2),
        ("include", "uncertain", 1),
        ("exclude", "include", 0),
        ("exclude", "exclude", 0),
        ("exclude", "uncertain", 0),
        ("uncertain", "include", 0),
        ("uncertain", "exclude", 0),
        ("uncertain", "uncertain", 0),
    ]
    assert agreement([]).cells == ()
