"""Simulated reviews of eight kinds, whose true includes are known: records with scores, as a model gives them.

Scores are binormal: those of includes lie higher by sqrt(2) times the normal quantile of the area under the curve.
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


@dataclass(frozen=True)
class Review:
    """Records by their places in a batch."""

    true: tuple[bool, ...]  # is it an include
    scores: tuple[float, ...]
    topics: tuple[int, ...]  # of a record; -1: of none. Who finds an include of a topic reads the others of it next
    first: tuple[bool, ...]  # what the first reader says
    second: tuple[bool, ...]  # what a second one says, who reads on their own
    read_twice: int = 0  # so many records, the first ones that are read, are read by both


Kind: TypeAlias = Callable[[random.Random, int], Review]


def plain(prevalence: float) -> Kind:
    """Reviews with this share of includes, of three areas under the curve in turn."""
    return lambda draw, number: _review(draw, prevalence, lambda _: AREAS[number % len(AREAS)])


def with_topics(draw: random.Random, number: int) -> Review:
    """A part of the topics is found late: includes of them score like everything else."""
    late = round(TOPICS * HIDDEN_TOPICS)
    topic_of = {}

    def area(place: int) -> float:
        topic_of[place] = draw.randrange(TOPICS)
        return 0.5 if topic_of[place] < late else 0.95

    made = _review(draw, 0.05, area)
    others = [draw.randrange(TOPICS) if draw.random() < 0.2 else -1 for _ in made.true]  # records near a topic
    topics = tuple(topic_of.get(place, other) for place, other in enumerate(others))
    return replace(made, topics=topics)


def with_drift(draw: random.Random, number: int) -> Review:
    """The score tells includes apart well at the beginning of the batch, and hardly at its end."""
    best, worst = DRIFT
    return _review(draw, 0.05, lambda place: best + (worst - best) * place / RECORDS)


def with_second_database(draw: random.Random, number: int) -> Review:
    """The last quarter was appended; its includes score low."""
    return _review(draw, 0.05, lambda place: APPENDED_AREA if place >= RECORDS * (1 - APPENDED) else 0.95)


def with_misses(draw: random.Random, number: int) -> Review:
    """Two people read each record on their own; each overlooks one include in twenty."""
    return replace(read_by_one(draw, number), read_twice=RECORDS)


def read_by_one(draw: random.Random, number: int) -> Review:
    """One person reads, who overlooks one include in twenty; another one reads the first tenth, too."""
    made = _review(draw, 0.05, lambda _: AREAS[number % len(AREAS)])
    first, second = (tuple(true and draw.random() >= MISSES for true in made.true) for _ in range(2))
    return replace(made, first=first, second=second, read_twice=RECORDS // 10)


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


def _review(draw: random.Random, prevalence: float, area: Callable[[int], float]) -> Review:
    """A review whose includes at each place score as the area under the curve there says; as many as chance gives."""
    normal = NormalDist()
    true = tuple(draw.random() < prevalence for _ in range(RECORDS))
    scores = tuple(
        draw.gauss(0, 1) + (sqrt(2) * normal.inv_cdf(area(place)) if include else 0)
        for place, include in enumerate(true)
    )
    return Review(true, scores, (-1,) * RECORDS, true, true)
