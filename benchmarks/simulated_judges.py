"""Simulated judges: what models say of records whose labels are known, with errors as real ones make them.

The binormal model: the strength that a judge sees in a record is normal with a standard deviation of one, around zero
for an excluded record and around `separation(auc)` for an included one, so that an included record outranks an excluded
one with the probability `auc`. What makes errors alike is taken out of that one standard deviation: a topic's records
share a part of it, and so do several judges. Everything follows from the seed.

Needs numpy, which comes with the extra `order`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Labels: TypeAlias = NDArray[np.bool_]
Strengths: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Kind:
    """A kind of review and of judges."""

    auc: float = 0.9
    records: int = 2_000
    prevalence: float = 0.05  # the share of included records, as a draw for each record
    topics: int = 0  # records lie in so many topics, by chance; 0: none
    topic_share: float = 0.3  # of the variance of a strength that a topic's records have in common
    drift: float = 0.0  # by so many standard deviations included records look weaker at the end than at the beginning
    appended: float = 0.0  # the share of records, the last ones, that come from a second database
    appended_auc: float = 0.8  # of the judges there
    appended_prevalence: float | None = None  # None: as in the first one
    judges: int = 1
    shared: float = 0.0  # of the variance of a judge's own error, what all judges have in common

    def __post_init__(self) -> None:
        shares = (self.prevalence, self.topic_share, self.appended, self.shared)
        if not all(0 <= share <= 1 for share in shares) or not all(
            0 < auc < 1 for auc in (self.auc, self.appended_auc)
        ):
            raise ValueError(f"a share is from 0 to 1, an AUC between them: {self}")


@dataclass(frozen=True)
class Simulated:
    """A review with the judges' answers; every array in the order of the records."""

    labels: Labels
    strengths: Strengths  # judges x records
    probabilities: Strengths  # judges x records: that the record is to be included, said without knowing the prevalence
    topics: NDArray[np.int64]  # 0 where there are none
    second: Labels  # from the second database

    def verdicts(self) -> Labels:
        """Judges x records: whether each judge would include it."""
        return self.probabilities >= 1 / 2


def separation(auc: float) -> float:
    """How far apart the means lie, in standard deviations: AUC = Phi(d / sqrt(2))."""
    return sqrt(2) * NormalDist().inv_cdf(auc)


def simulate(kind: Kind, seed: int) -> Simulated:
    """Return one review of a kind; the same for the same seed."""
    draw = np.random.default_rng(seed)
    second = _second(kind, kind.records)
    later = kind.prevalence if kind.appended_prevalence is None else kind.appended_prevalence
    labels = draw.random(kind.records) < np.where(second, later, kind.prevalence)
    return _judged(kind, labels, second, draw)


def judge(labels: Sequence[bool] | Labels, kind: Kind, seed: int) -> Simulated:
    """Return what such judges say of records with these labels; records and prevalence are theirs."""
    known = np.asarray(labels, dtype=bool)
    return _judged(kind, known, _second(kind, len(known)), np.random.default_rng(seed))


def simulations(kind: Kind, reviews: int, *, seed: int = 0) -> Iterator[Simulated]:
    """So many reviews of a kind, each of its own seed: one more changes none of those before."""
    return (simulate(kind, own) for own in np.random.SeedSequence(seed).generate_state(reviews, np.uint64).tolist())


def read_by_people(labels: Labels, misses: float, seed: int) -> Labels:
    """What people decide who exclude this share of the included records by mistake, and nothing else wrongly."""
    return labels & (np.random.default_rng((seed, 1)).random(len(labels)) >= misses)


def _second(kind: Kind, records: int) -> Labels:
    return np.arange(records) >= round(records * (1 - kind.appended))


def _judged(kind: Kind, labels: Labels, second: Labels, draw: np.random.Generator) -> Simulated:
    records = len(labels)
    apart = np.where(second, separation(kind.appended_auc), separation(kind.auc))
    topics = draw.integers(max(1, kind.topics), size=records)
    noise = _errors(kind, topics, draw)
    place = np.linspace(0.0, 1.0, records) if records > 1 else np.zeros(records)
    means = np.where(labels, apart - kind.drift * (place - 1 / 2), 0.0)
    strengths = means + noise
    # Bayes' rule for two normals with an even chance: the log odds are d * x - d^2 / 2. The judge knows of no drift.
    odds = apart * strengths - apart**2 / 2
    return Simulated(labels, strengths, 1 / (1 + np.exp(-odds)), topics, second)


def _errors(kind: Kind, topics: NDArray[np.int64], draw: np.random.Generator) -> Strengths:
    """Judges x records, each with a variance of one over all topics."""
    size = (kind.judges, len(topics))
    common = draw.standard_normal(len(topics))
    own = sqrt(kind.shared) * common + sqrt(1 - kind.shared) * draw.standard_normal(size)
    if not kind.topics:
        return np.asarray(own)
    share = kind.topic_share
    shared_topics = draw.standard_normal(kind.topics)
    by_topic = sqrt(kind.shared) * shared_topics + sqrt(1 - kind.shared) * draw.standard_normal(
        (kind.judges, kind.topics)
    )
    return np.asarray(sqrt(share) * by_topic[:, topics] + sqrt(1 - share) * own)
