"""Simulated reviews of eight kinds with known includes: records with scores, as a model gives them.

Scores are binormal: the mean of the includes is higher by sqrt(2) times the normal quantile of the area under the
curve.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import sqrt
from statistics import NormalDist
from typing import TypeAlias

RECORDS = 5_000
AREAS = (0.80, 0.90, 0.98)  # under the curve, a third of the reviews each
TOPICS = 20  # the includes lie in them
HIDDEN_TOPICS = 0.3  # the share of them whose includes score like other records until one is found
DRIFT = (0.98, 0.55)  # the area under the curve at the first and at the last record
APPENDED, APPENDED_AREA = 0.25, 0.60  # the share of a second database, and the area under its curve
MISSES = 0.05  # the share of the includes that a person overlooks
LATE, LATE_AREAS = 0.1, (0.2, 0.3)  # the share of includes that rank below other records, and the areas of their scores


@dataclass(frozen=True)
class Review:
    """The records of a review, by their places in a batch."""

    true: tuple[bool, ...]  # True: an include
    scores: tuple[float, ...]
    topics: tuple[int, ...]  # topic of each record; -1: none. After an include, the topic's other records are read next
    first: tuple[bool, ...]  # decisions of the first reader
    second: tuple[bool, ...]  # independent decisions of a second reader
    read_twice: int = 0  # number of records, from the first in the order of reading, that both readers read


Kind: TypeAlias = Callable[[random.Random, int], Review]


def plain(prevalence: float) -> Kind:
    """Return a kind of reviews with this share of includes. Three areas under the curve take turns."""
    return lambda draw, number: review_of(draw, prevalence, lambda _: AREAS[number % len(AREAS)])


def with_topics(draw: random.Random, number: int) -> Review:
    """Return a review in which some topics are found late, because their includes score like other records."""
    late = round(TOPICS * HIDDEN_TOPICS)
    topic_of = {}

    def area(place: int) -> float:
        topic_of[place] = draw.randrange(TOPICS)
        return 0.5 if topic_of[place] < late else 0.95

    made = review_of(draw, 0.05, area)
    others = [draw.randrange(TOPICS) if draw.random() < 0.2 else -1 for _ in made.true]  # records near a topic
    topics = tuple(topic_of.get(place, other) for place, other in enumerate(others))
    return replace(made, topics=topics)


def with_drift(draw: random.Random, number: int) -> Review:
    """Return a review in which scores separate includes well at the beginning of the batch, and hardly at the end."""
    best, worst = DRIFT
    return review_of(draw, 0.05, lambda place: best + (worst - best) * place / RECORDS)


def with_second_database(draw: random.Random, number: int) -> Review:
    """Return a review whose last quarter was appended. The includes there have low scores."""
    return review_of(draw, 0.05, lambda place: APPENDED_AREA if place >= RECORDS * (1 - APPENDED) else 0.95)


def with_misses(draw: random.Random, number: int) -> Review:
    """Return a review that two people read independently. Each overlooks one include in twenty."""
    return replace(read_by_one(draw, number), read_twice=RECORDS)


def read_by_one(draw: random.Random, number: int) -> Review:
    """Return a review that one person reads, who overlooks one include in twenty. Another reads the first tenth too."""
    made = review_of(draw, 0.05, lambda _: AREAS[number % len(AREAS)])
    first, second = (tuple(true and draw.random() >= MISSES for true in made.true) for _ in range(2))
    return replace(made, first=first, second=second, read_twice=RECORDS // 10)


def with_late_includes(area: float) -> Kind:
    """Return a kind of reviews in which a tenth of the includes scores below other records, with this area."""
    return lambda draw, number: review_of(draw, 0.05, lambda _: area if draw.random() < LATE else 0.95)


KINDS: Mapping[str, Kind] = {
    "prevalence 0.5 %": plain(0.005),
    "prevalence 2 %": plain(0.02),
    "prevalence 5 %": plain(0.05),
    "prevalence 20 %": plain(0.20),
    "topics": with_topics,
    "drift": with_drift,
    "second database appended": with_second_database,
    "human misses 5 %": with_misses,
}


def review_of(draw: random.Random, prevalence: float, area: Callable[[int], float]) -> Review:
    """Return a review with random includes. `area`: the area under the curve for the scores at a place."""
    normal = NormalDist()
    true = tuple(draw.random() < prevalence for _ in range(RECORDS))
    scores = tuple(
        draw.gauss(0, 1) + (sqrt(2) * normal.inv_cdf(area(place)) if include else 0)
        for place, include in enumerate(true)
    )
    return Review(true, scores, (-1,) * RECORDS, true, true)
