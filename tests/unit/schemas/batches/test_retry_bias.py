"""How the failures of a round are distributed: tables that add up, and sentences that say no more than they show."""

from collections import Counter
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import ErrorKind
from tamis_schemas.batches.retry_bias import (
    EndedRecord,
    RetryBias,
    RoundFailures,
    RoundTally,
    Trait,
    chi_square,
    p_words,
    quarters,
    upper_tail,
)

TIMEOUT, SERVER = ErrorKind.TIMEOUT, ErrorKind.SERVER


def compare(number: int, rows: list[EndedRecord]) -> RoundFailures:
    tally = RoundTally()
    for row in rows:
        tally.add(row)
    return tally.compared(number)


def rows(*parts: tuple[int, int, int], year: int | None = 2000) -> list[EndedRecord]:
    """Of each part (characters, n, failed): records of this length."""
    return [
        EndedRecord(characters, year, None, TIMEOUT if place < failed else None)
        for characters, n, failed in parts
        for place in range(n)
    ]


def sentence(found: list[EndedRecord], trait: Trait) -> str:
    (one,) = (comparison for comparison in compare(1, found).comparisons if comparison.trait is trait)
    return one.sentence


@pytest.mark.parametrize(
    ("values", "spans"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8], [(1, 2), (3, 4), (5, 6), (7, 8)]),
        ([5, 5, 5, 5], [(5, 5)]),
        ([1, 1, 1, 1, 1, 9], [(1, 1), (9, 9)]),
        ([7], [(7, 7)]),
        ([3, 1, 2], [(1, 1), (2, 2), (3, 3)]),
    ],
)
def test_quarters_are_equal_as_far_as_equal_values_let_them(values: list[int], spans: list[tuple[int, int]]) -> None:
    assert quarters(Counter(values)) == spans


@given(st.lists(st.integers(0, 50), min_size=1, max_size=200))
def test_every_value_stands_in_exactly_one_quarter(values: list[int]) -> None:
    spans = quarters(Counter(values))
    assert 1 <= len(spans) <= 4
    assert all(sum(first <= value <= last for first, last in spans) == 1 for value in values)


def test_the_longest_quarter_failed_four_times_as_often() -> None:
    found = rows((100, 100, 5), (200, 100, 5), (300, 100, 5), (400, 100, 20))
    # 20 % against 15 of 300 = 5 %
    assert sentence(found, Trait.LENGTH) == (
        "Records of the longest quarter (400 characters) failed 4.0 times as often as the others: 20.0% of 100 against "
        "5.0% of 300."
    )


def test_where_no_other_record_failed_there_is_no_ratio() -> None:
    found = rows((100, 100, 0), (200, 100, 0), (300, 100, 0), (400, 100, 30))
    assert sentence(found, Trait.LENGTH) == (
        "Only records of the longest quarter (400 characters) failed: 30 of 100. None of the others failed."
    )


def test_what_chance_explains_is_called_no_sign() -> None:
    found = rows((100, 100, 9), (200, 100, 11), (300, 100, 10), (400, 100, 10))
    # expected 10 in each: (1 + 1)/10 + (1 + 1)/90 = 0.222, 3 degrees of freedom
    assert compare(1, found).comparisons[0].tested == "chi-square 0.2, 3 df, p = 0.97"
    assert sentence(found, Trait.LENGTH) == "No evidence that failure depends on a record's length."


def test_small_numbers_are_not_overstated() -> None:
    found = rows((100, 10, 0), (200, 10, 0), (300, 10, 0), (400, 10, 3))
    assert sentence(found, Trait.LENGTH) == "Too few records to test whether failure depends on a record's length."
    one = compare(1, found).comparisons[0]
    assert (one.statistic, one.p, one.tested) == (None, None, "")


def test_records_without_a_year_are_a_group_of_their_own() -> None:
    known = rows((100, 200, 10), year=1999)
    unknown = rows((100, 200, 40), year=None)
    assert sentence(known + unknown, Trait.YEAR) == (
        "Records without a year failed 4.0 times as often as the others: 20.0% of 200 against 5.0% of 200."
    )


def test_neighbours_are_compared_where_there_are_two() -> None:
    found = [
        EndedRecord(100, 2000, passed, SERVER if place < failed else None)
        for passed, n, failed in ((2, 100, 30), (1, 100, 10), (0, 100, 10), (None, 2, 2))
        for place in range(n)
    ]
    (one,) = compare(2, found).comparisons  # of one length and one year there is nothing to compare
    assert [(group.label, group.n, group.failed) for group in one.groups] == [
        ("both passed", 100, 30),
        ("one of the two passed", 100, 10),
        ("neither passed", 100, 10),
    ]
    assert one.sentence.startswith("Records whose neighbours both passed failed 3.0 times as often as the others")


@pytest.mark.parametrize("failed", [0, 20])
def test_where_nothing_or_everything_failed_there_is_nothing_to_compare(failed: int) -> None:
    one = compare(3, rows((100, 10, failed // 2), (200, 10, failed // 2)))
    assert (one.round, one.evaluated, one.failed, one.comparisons) == (3, 20, failed, ())


def test_a_round_names_its_kinds_and_what_passed_of_what_it_decided() -> None:
    found = [
        EndedRecord(1, None, None, SERVER),
        EndedRecord(1, None, None, TIMEOUT),
        EndedRecord(1, None, None, TIMEOUT),
        EndedRecord(1, None, None, None, passed=True),
        EndedRecord(1, None, None, None, passed=False),
        EndedRecord(1, None, None, None, passed=False),
    ]
    one = compare(1, found)
    assert list(one.kinds.items()) == [(TIMEOUT, 2), (SERVER, 1)]
    assert (one.pass_rate.count, one.pass_rate.total) == (1, 3)


@given(
    st.lists(
        st.builds(
            EndedRecord,
            st.integers(0, 30),
            st.none() | st.integers(1990, 1999),
            st.none() | st.integers(0, 2),
            st.none() | st.sampled_from(list(ErrorKind)),
        ),
        min_size=1,
        max_size=120,
    )
)
def test_every_table_adds_up(found: list[EndedRecord]) -> None:
    one = compare(1, found)
    assert one.failed == sum(one.kinds.values())
    for comparison in one.comparisons:
        if comparison.trait is not Trait.NEIGHBOURS:
            assert sum(group.n for group in comparison.groups) == len(found)
            assert sum(group.failed for group in comparison.groups) == one.failed
        assert len(comparison.groups) == comparison.degrees + 1
        assert comparison.sentence.endswith(".")


@pytest.mark.parametrize(
    ("p", "words"), [(0.0004, "p < 0.001"), (0.004, "p = 0.004"), (0.43, "p = 0.43"), (1.0, "p = 1.00")]
)
def test_p_is_said_with_as_many_digits_as_it_is_worth(p: float, words: str) -> None:
    assert p_words(p) == words


def test_one_round_without_failures_is_not_worth_telling() -> None:
    fine = compare(1, rows((1, 5, 0)))
    assert not RetryBias(rounds=(fine,)).worth_telling
    assert RetryBias(rounds=(compare(1, rows((1, 5, 1))),)).worth_telling
    assert RetryBias(rounds=(fine, fine)).worth_telling


def test_the_statistic_is_the_written_one() -> None:
    # Of 100 and 100, 30 and 10 failed: expected 20, 80 in both. (10² + 10²)/20 + (10² + 10²)/80 = 10 + 2.5.
    found = chi_square([30, 10], [100, 100])
    assert found is not None
    assert isclose(found.statistic, 12.5)
    assert found.degrees == 1
    assert isclose(found.p, 0.000407, abs_tol=1e-6)  # 2·(1 - Φ(√12.5)) = 2·(1 - Φ(3.535534))


@pytest.mark.parametrize(
    ("statistic", "degrees", "p"),
    [
        # The 5 % and 1 % points of the usual tables.
        (3.841459, 1, 0.05),
        (5.991465, 2, 0.05),
        (7.814728, 3, 0.05),
        (9.487729, 4, 0.05),
        (6.634897, 1, 0.01),
        (11.344867, 3, 0.01),
        (13.276704, 4, 0.01),
        (0.0, 1, 1.0),
        (0.0, 4, 1.0),
    ],
)
def test_the_tail_is_that_of_the_tables(statistic: float, degrees: int, p: float) -> None:
    assert isclose(upper_tail(statistic, degrees), p, abs_tol=1e-6)


@pytest.mark.parametrize(
    ("failed", "totals", "why"),
    [
        ([3], [10], "one group"),
        ([0, 0], [100, 100], "nothing failed: 0 expected"),
        ([100, 100], [100, 100], "everything failed: 0 expected not to"),
        ([1, 1], [3, 1000], "2·3/1003 expected in the first group"),
        ([4, 4, 4, 4], [100, 100, 100, 100], "4 expected in four of eight cells"),
    ],
)
def test_too_few_are_not_tested(failed: list[int], totals: list[int], why: str) -> None:
    assert chi_square(failed, totals) is None, why


def test_a_fifth_of_the_cells_may_be_small() -> None:
    # 12 of 232 failed: expected 5.17, 5.17 and 1.66 failures, and the others many: one cell of six is below 5.
    assert chi_square([5, 5, 2], [100, 100, 32]) is not None
    # 10 of 232: 4.3, 4.3 and 1.4: three of six.
    assert chi_square([4, 4, 2], [100, 100, 32]) is None


def test_equal_shares_show_nothing() -> None:
    found = chi_square([10, 20, 30], [100, 200, 300])
    assert found is not None
    assert isclose(found.statistic, 0.0, abs_tol=1e-9)
    assert isclose(found.p, 1.0, abs_tol=1e-6)


@pytest.mark.parametrize(("failed", "totals"), [([5], [4]), ([-1, 2], [4, 4]), ([0, 0], [4, 0])])
def test_what_is_no_share_is_refused(failed: list[int], totals: list[int]) -> None:
    with pytest.raises(ValueError, match="no shares"):
        chi_square(failed, totals)


@given(st.integers(1, 12), st.floats(0, 200), st.floats(0, 50))
def test_the_tail_falls_and_stays_a_probability(degrees: int, statistic: float, more: float) -> None:
    here, beyond = upper_tail(statistic, degrees), upper_tail(statistic + more, degrees)
    assert 0.0 <= beyond <= here + 1e-12 <= 1.0 + 1e-12
