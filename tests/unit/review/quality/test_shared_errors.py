"""Joint errors of two models beside those that chance alone would give."""

from math import comb, fsum

import pytest

from tamis_review.quality.shared_errors import WRONG, JointErrors, Sharing, shared_errors


def test_expected_joint_errors_phi_and_p_are_worked_out_over_the_strata() -> None:
    found = shared_errors([JointErrors(10, 4, 3, 3), JointErrors(20, 5, 4, 2)])
    assert (found.records, found.first, found.second, found.joint) == (30, 9, 7, 5)
    assert found.expected == pytest.approx(4 * 3 / 10 + 5 * 4 / 20)  # 1.2 + 1
    spread = (4 * 6 * 3 * 7) ** 0.5 / 10 + (5 * 15 * 4 * 16) ** 0.5 / 20
    assert found.phi == pytest.approx((5 - 2.2) / spread)
    # 5 joint errors or more: 3 + 2, 3 + 3, 3 + 4, 2 + 3, 2 + 4, 1 + 4
    one = [comb(4, i) * comb(6, 3 - i) / comb(10, 3) for i in range(4)]
    other = [comb(5, i) * comb(15, 4 - i) / comb(20, 4) for i in range(5)]
    p = sum(a * b for i, a in enumerate(one) for j, b in enumerate(other) if i + j >= 5)
    assert found.p == pytest.approx(p)
    assert found.sharing is Sharing.SHARED  # p is 0.006


def test_misses_and_false_includes_are_tested_apart() -> None:
    """In one pot, false includes that are not shared hide misses that are: 8 and 8 of 60 missed, 7 by both."""
    assert shared_errors([JointErrors(60, 8, 8, 7)]).sharing is Sharing.SHARED
    assert shared_errors([JointErrors(1_940, 200, 200, 21)]).sharing is Sharing.NO_SIGN
    assert shared_errors([JointErrors(60, 8, 8, 7), JointErrors(1_940, 200, 200, 21)]).sharing is not Sharing.SHARED


def test_joint_errors_labelled_at_another_rate_are_weighted() -> None:
    """Fisher's noncentral hypergeometric distribution: each term has the factor odds to the power of i."""
    terms = [comb(6, i) * comb(14, 5 - i) * 0.25**i for i in range(6)]
    weighted = shared_errors([JointErrors(20, 6, 5, 3, odds=0.25)])
    assert weighted.p == pytest.approx(sum(terms[3:]) / sum(terms))
    assert weighted.expected == pytest.approx(fsum(i * term for i, term in enumerate(terms)) / sum(terms))
    assert weighted.p < shared_errors([JointErrors(20, 6, 5, 3)]).p


def test_without_strata_it_is_fishers_exact_test() -> None:
    # The lady tasting tea: 4 of 8 cups, 3 of them right: (16 + 1) / 70
    assert shared_errors([JointErrors(8, 4, 4, 3)]).p == pytest.approx(17 / 70)


@pytest.mark.parametrize(
    ("errors", "sharing"),
    [
        (JointErrors(100, 20, 20, 20), Sharing.SHARED),
        (JointErrors(100, 20, 20, 4), Sharing.NO_SIGN),  # just as many as chance gives
        (JointErrors(100, 20, 20, 0), Sharing.NO_SIGN),
        (JointErrors(100, 1, 10, 1), Sharing.TOO_FEW),  # P(X >= 1) = 0.1: joint or not, it could be chance
        (JointErrors(100, 0, 20, 0), Sharing.TOO_FEW),
        (JointErrors(3, 3, 3, 3), Sharing.TOO_FEW),  # who always errs errs with everybody
    ],
)
def test_it_says_where_errors_are_shared_and_where_there_are_too_few_to_say(
    errors: JointErrors, sharing: Sharing
) -> None:
    assert shared_errors([errors]).sharing is sharing


def test_of_many_pairs_each_gets_its_share_of_the_probability_to_be_wrong() -> None:
    errors = JointErrors(100, 10, 10, 4)  # P(X >= 4) = 0.0082; misses and false includes are two tests of each pair
    assert WRONG / 20 < shared_errors([errors]).p < WRONG / 6
    assert shared_errors([errors], pairs=3).sharing is Sharing.SHARED
    assert shared_errors([errors], pairs=10).sharing is Sharing.NO_SIGN


def test_a_class_that_is_harder_for_all_is_no_shared_error() -> None:
    """Both miss half of the includes and keep a tenth of the others, each on its own: in one pot they seem to share."""
    strata = [JointErrors(100, 50, 50, 25), JointErrors(900, 90, 90, 9)]
    assert shared_errors(strata).sharing is Sharing.NO_SIGN
    assert shared_errors(strata).phi == pytest.approx(0.0)
    assert shared_errors([JointErrors(1_000, 140, 140, 34)]).sharing is Sharing.SHARED


def test_of_no_records_nothing_is_said() -> None:
    found = shared_errors([JointErrors(0, 0, 0, 0)])
    assert (found.records, found.phi, found.sharing) == (0, None, Sharing.TOO_FEW)
