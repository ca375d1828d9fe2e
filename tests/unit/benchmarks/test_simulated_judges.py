"""Simulated judges are as good, as alike and as seeded as they are said to be."""

from statistics import fmean

import numpy as np
import pytest
from benchmarks.simulated_judges import Kind, Simulated, judge, read_by_people, separation, simulate, simulations


def auc(review: Simulated, judge: int = 0) -> float:
    """The share of pairs of an included and an excluded record in which the included one looks stronger."""
    strengths = review.strengths[judge]
    included, excluded = strengths[review.labels], strengths[~review.labels]
    return float((included[:, None] > excluded[None, :]).mean())


def correlation_of_errors(review: Simulated) -> float:
    return float(np.asarray(np.corrcoef(review.strengths[:, ~review.labels]))[0, 1])


def test_the_distance_of_the_means_follows_from_the_auc() -> None:
    assert separation(0.5) == 0.0
    # Phi(d / sqrt 2) = 0.921350 at d = 2: Phi(1.414214)
    assert separation(0.921350) == pytest.approx(2.0, abs=1e-4)


@pytest.mark.parametrize(
    "kind", [Kind(auc=0.9), Kind(auc=0.8, topics=60), Kind(auc=0.95, judges=2, shared=0.7), Kind(auc=0.9, drift=0.5)]
)
def test_a_judge_ranks_as_its_auc_says(kind: Kind) -> None:
    # topics and drift spread what single reviews come to; over 40 of them 0.01 is far outside chance
    assert fmean(auc(one) for one in simulations(kind, 40)) == pytest.approx(kind.auc, abs=0.01)


def test_included_records_are_as_frequent_as_said_also_in_the_second_database() -> None:
    kind = Kind(records=40_000, prevalence=0.02, appended=0.25, appended_prevalence=0.2)
    review = simulate(kind, 3)
    assert review.second.sum() == 10_000
    assert not review.second[:30_000].any()
    # standard errors 0.0008 and 0.004
    assert review.labels[~review.second].mean() == pytest.approx(0.02, abs=0.004)
    assert review.labels[review.second].mean() == pytest.approx(0.2, abs=0.02)


def test_the_second_database_is_judged_by_its_own_auc() -> None:
    reviews = list(simulations(Kind(auc=0.98, appended=0.5, appended_auc=0.7, prevalence=0.2), 20))
    later = [
        Simulated(one.labels[1_000:], one.strengths[:, 1_000:], one.probabilities, one.topics, one.second)
        for one in reviews
    ]
    assert fmean(map(auc, later)) == pytest.approx(0.7, abs=0.02)


def test_drift_lets_later_includes_look_weaker() -> None:
    review = simulate(Kind(records=40_000, prevalence=0.2, drift=1.0), 0)
    included = np.flatnonzero(review.labels)
    early, late = included[included < 10_000], included[included >= 30_000]
    # means at 1/8 and 7/8 of the way: 3/4 of the drift apart
    apart = review.strengths[0][early].mean() - review.strengths[0][late].mean()
    assert apart == pytest.approx(0.75, abs=0.1)


def test_a_topic_s_records_share_their_error() -> None:
    review = simulate(Kind(records=20_000, topics=100, topic_share=0.4, prevalence=0.0), 0)
    means = [review.strengths[0][review.topics == topic].mean() for topic in range(100)]
    # 0.4 of the variance lies between topics; of 200 records each, their own errors add 0.6 / 200
    assert float(np.var(means)) == pytest.approx(0.4, abs=0.15)


def test_judges_err_alike_as_far_as_they_share_their_errors() -> None:
    assert correlation_of_errors(simulate(Kind(judges=2, shared=0.8), 0)) == pytest.approx(0.8, abs=0.05)
    assert correlation_of_errors(simulate(Kind(judges=2), 0)) == pytest.approx(0.0, abs=0.08)
    alike = simulate(Kind(judges=2, shared=1.0, topics=10), 0)
    assert (alike.verdicts()[0] == alike.verdicts()[1]).all()


def test_a_probability_is_that_of_an_included_record_where_both_kinds_are_as_frequent() -> None:
    review = simulate(Kind(records=60_000, prevalence=0.5, auc=0.85), 1)
    said = review.probabilities[0]
    for low in (0.1, 0.4, 0.8):
        near = (said >= low) & (said < low + 0.1)
        assert review.labels[near].mean() == pytest.approx(said[near].mean(), abs=0.03)


def test_everything_follows_from_the_seed() -> None:
    kind = Kind(topics=5, judges=2, shared=0.5)
    one, same, other = simulate(kind, 4), simulate(kind, 4), simulate(kind, 5)
    assert (one.strengths == same.strengths).all()
    assert (one.labels == same.labels).all()
    assert not (one.strengths == other.strengths).all()
    two, three = list(simulations(kind, 2)), list(simulations(kind, 3))
    assert all((a.labels == b.labels).all() for a, b in zip(two, three, strict=False))
    assert not (three[0].strengths == three[1].strengths).all()


def test_labels_that_are_known_are_judged_as_they_are() -> None:
    labels = [True, False, False, True]
    review = judge(labels, Kind(auc=0.9, records=7), 0)
    assert review.labels.tolist() == labels
    assert review.strengths.shape == (1, 4)


def test_people_miss_included_records_alone() -> None:
    labels = np.arange(20_000) < 10_000
    read = read_by_people(labels, 0.05, 0)
    assert not (read & ~labels).any()
    assert (labels & ~read).mean() == pytest.approx(0.025, abs=0.005)
    assert (read_by_people(labels, 0.0, 0) == labels).all()


def test_shares_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        Kind(prevalence=5)
    with pytest.raises(ValueError, match="AUC"):
        Kind(auc=1.0)
