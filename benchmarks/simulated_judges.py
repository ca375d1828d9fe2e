"""Simulated judges (models): answers about records with known labels, with errors like those of real models.

The binormal model: a judge sees a strength in each record. It is normal with a standard deviation of 1, and a mean of 0
for an excluded record and of `separation(auc)` for an included record. So an included record outranks an excluded
record with the probability `auc`. A part of the variance may be shared by a topic's records, and by several judges,
which makes their errors alike. The seed determines everything.

The module needs numpy, from the extra `order`.
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
    prevalence: float = 0.05  # probability that a record is included
    topics: int = 0  # number of topics, to which records belong at random; 0: no topics
    topic_share: float = 0.3  # share of a strength's variance that the records of a topic have in common
    drift: float = 0.0  # standard deviations by which includes look weaker at the end than at the beginning
    appended: float = 0.0  # share of the records from a second database, which come last
    appended_auc: float = 0.8  # AUC of the judges in the second database
    appended_prevalence: float | None = None  # prevalence in the second database; None: the same
    judges: int = 1
    shared: float = 0.0  # share of the variance of a judge's own error that all judges have in common

    def __post_init__(self) -> None:
        shares = (self.prevalence, self.topic_share, self.appended, self.shared)
        if not all(0 <= share <= 1 for share in shares) or not all(
            0 < auc < 1 for auc in (self.auc, self.appended_auc)
        ):
            raise ValueError(f"a share is from 0 to 1, an AUC between them: {self}")


@dataclass(frozen=True)
class Simulated:
    """A review with the judges' answers. Every array is in the order of the records."""

    labels: Labels
    strengths: Strengths  # judges x records
    probabilities: Strengths  # judges x records: probability of inclusion, stated without knowing the prevalence
    topics: NDArray[np.int64]  # 0 if there are no topics
    second: Labels  # True: from the second database

    def verdicts(self) -> Labels:
        """Return, judges x records, whether each judge includes each record."""
        return self.probabilities >= 1 / 2


def separation(auc: float) -> float:
    """Return the distance d of the two means in standard deviations, from AUC = Phi(d / sqrt(2))."""
    return sqrt(2) * NormalDist().inv_cdf(auc)


def simulate(kind: Kind, seed: int) -> Simulated:
    """Return one review of a kind. The seed determines it."""
    draw = np.random.default_rng(seed)
    second = _second(kind, kind.records)
    later = kind.prevalence if kind.appended_prevalence is None else kind.appended_prevalence
    labels = draw.random(kind.records) < np.where(second, later, kind.prevalence)
    return _judged(kind, labels, second, draw)


def judge(labels: Sequence[bool] | Labels, kind: Kind, seed: int) -> Simulated:
    """Return the answers of judges of this kind about records with these labels."""
    known = np.asarray(labels, dtype=bool)
    return _judged(kind, known, _second(kind, len(known)), np.random.default_rng(seed))


def simulations(kind: Kind, reviews: int, *, seed: int = 0) -> Iterator[Simulated]:
    """Return reviews of a kind, each with its own seed, so that a further review does not change the others."""
    return (simulate(kind, own) for own in np.random.SeedSequence(seed).generate_state(reviews, np.uint64).tolist())


def read_by_people(labels: Labels, misses: float, seed: int) -> Labels:
    """Return the decisions of people who exclude this share of the includes by mistake, and make no other mistake."""
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
    """Return the errors, judges x records, each with a variance of 1 over all topics."""
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
