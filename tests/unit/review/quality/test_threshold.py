"""The threshold of a pilot: its arithmetic, and its laws."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_review.quality.exact import lower_bound
from tamis_review.quality.pilot import choose_threshold, includes_needed
from tamis_schemas import InvalidParameters

RANKS = st.lists(st.one_of(st.just(inf), st.just(-inf), st.integers(0, 20).map(lambda n: n / 20)), max_size=150)
RECALLS = st.sampled_from([0.5, 0.7, 0.8, 0.9, 0.95, 0.99])
DELTAS = st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.5])


@pytest.mark.parametrize(
    ("recall", "delta", "missed", "needed"),
    [
        (0.95, 0.05, 0, 59),  # 0.95^59 = 0.0485, 0.95^58 = 0.0510
        (0.95, 0.10, 0, 45),  # 0.95^45 = 0.0994
        (0.90, 0.05, 0, 29),  # 0.9^29 = 0.0471
        (0.95, 0.05, 1, 93),  # the tables of acceptance sampling: 59, 93, 124, 153
        (0.95, 0.05, 2, 124),
        (0.95, 0.05, 3, 153),
        (0.5, 0.5, 0, 1),
    ],
)
def test_how_many_includes_a_pilot_needs(recall: float, delta: float, missed: int, needed: int) -> None:
    assert includes_needed(recall, delta, missed) == needed


def test_59_includes_without_a_miss_allow_the_lowest_of_their_scores_and_58_none() -> None:
    scores = [0.4 + place / 1000 for place in range(59)]
    found = choose_threshold(scores)
    assert (found.value, found.missed, found.needed) == (0.4, 0, None)
    assert found.bound == pytest.approx(0.05 ** (1 / 59))
    refused = choose_threshold(scores[:58])
    assert (refused.value, refused.includes, refused.needed) == (None, 58, 59)


def test_124_includes_allow_two_misses() -> None:
    found = choose_threshold([place / 200 for place in range(1, 125)])
    assert (found.value, found.missed) == (3 / 200, 2)


def test_what_a_rule_excludes_is_missed_by_every_threshold_and_what_a_human_reads_by_none() -> None:
    assert choose_threshold([-inf] + [0.8] * 91).value is None
    assert choose_threshold([-inf] + [0.8] * 91).needed == 93
    found = choose_threshold([-inf] + [0.8] * 92)
    assert (found.value, found.missed) == (0.8, 1)
    assert choose_threshold([inf] * 59).value == 0.0


def test_scores_that_clump_are_kept_or_dropped_together() -> None:
    found = choose_threshold([0.3] * 20 + [0.9] * 80)
    assert (found.value, found.missed) == (0.3, 0)


def _threshold(ranks: list[float], recall: float, delta: float) -> float:
    value = choose_threshold(ranks, recall, delta).value
    return -1.0 if value is None else value


@given(RANKS, RECALLS, RECALLS, DELTAS, DELTAS)
def test_who_asks_for_more_recall_or_more_certainty_keeps_more(
    ranks: list[float], one: float, other: float, risk: float, other_risk: float
) -> None:
    assert _threshold(ranks, max(one, other), risk) <= _threshold(ranks, min(one, other), risk)
    assert _threshold(ranks, one, min(risk, other_risk)) <= _threshold(ranks, one, max(risk, other_risk))


@given(RANKS, RECALLS, DELTAS)
def test_it_is_the_strictest_threshold_that_passes_and_says_what_it_misses(
    ranks: list[float], recall: float, delta: float
) -> None:
    found = choose_threshold(ranks, recall, delta)
    n = len(ranks)

    def bound(value: float) -> float:
        return lower_bound(sum(rank >= value for rank in ranks), n, 1 - delta)

    if found.value is None:
        assert bound(0.0) < recall
        assert found.needed > n or found.missed
        return
    assert found.missed == sum(rank < found.value for rank in ranks)
    assert found.bound == bound(found.value) >= recall
    stricter = [rank for rank in ranks if found.value < rank < inf]
    assert all(bound(value) < recall for value in stricter)


@pytest.mark.parametrize(
    ("recall", "delta"), [(0.0, 0.05), (1.0, 0.05), (0.95, 0.0), (0.95, 1.0), (float("nan"), 0.05)]
)
def test_a_recall_or_risk_that_is_no_share_is_refused(recall: float, delta: float) -> None:
    with pytest.raises(InvalidParameters, match="is not between 0 and 1"):
        choose_threshold([0.5], recall, delta)
