"""Pilots of several kinds in whole reviews: do `tamis calibrate` and `tamis evaluate` keep or refuse their promise?

A review has 2,400 records in the order of their databases, and 15 % of them are includes. The last database, which was
appended later, has a quarter of the records, and the model scores its includes lower. The model judges the ten records
of a page alike. A promise is kept if the threshold has the wanted recall on the whole batch, and the intervals of
sensitivity and specificity contain the true values.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import TypeAlias

from tamis_review.quality.gold_evaluation import evaluate
from tamis_review.quality.judged import Judged, Stand
from tamis_review.quality.matching import Matched, Matching
from tamis_review.quality.pilot import calibrate

RECORDS, PAGE, LABELLED = 2_400, 10, 800
INCLUDES, APPENDED = 0.15, 0.25
RECALL, DELTA = 0.9, 0.05
SEED = 1

Choice: TypeAlias = Callable[[random.Random, Sequence[Judged]], set[int]]


def review(draw: random.Random) -> list[Judged]:
    """Return records with the model's decision, and a person's decision in `human`."""
    records = []
    for index in range(RECORDS):
        if index % PAGE == 0:
            page = draw.gauss(0, 0.7)
        appended = index >= RECORDS * (1 - APPENDED)
        human = draw.random() < INCLUDES
        strength = draw.gauss((0.8 if appended else 2.2) if human else -1.6, 1) + page
        score = round(1 / (1 + exp(-strength)), 2)
        stand = Stand.INCLUDE if score >= 1 / 2 else Stand.EXCLUDE
        confidence = score if stand is Stand.INCLUDE else 1 - score
        database = "appended" if appended else "first"
        records.append(Judged(index, str(index), "", stand, "", confidence=confidence, human=human, database=database))
    return records


def at_random(draw: random.Random, records: Sequence[Judged]) -> set[int]:
    return set(draw.sample(range(len(records)), LABELLED))


def first(_: random.Random, records: Sequence[Judged]) -> set[int]:
    return set(range(LABELLED))


def first_in_part(draw: random.Random, records: Sequence[Judged]) -> set[int]:
    """Return a random two thirds of the first 1,200 records."""
    return set(draw.sample(range(LABELLED * 3 // 2), LABELLED))


def top_scored(_: random.Random, records: Sequence[Judged]) -> set[int]:
    return set(sorted(range(len(records)), key=lambda place: -records[place].rank)[:LABELLED])


def rather_top_scored(draw: random.Random, records: Sequence[Judged]) -> set[int]:
    """Return a random sample with more records of higher scores."""
    return set(
        sorted(range(len(records)), key=lambda place: draw.random() ** (1 / (0.2 + records[place].rank)))[-LABELLED:]
    )


def one_database_missing(draw: random.Random, records: Sequence[Judged]) -> set[int]:
    """Return a random sample of the first database only. The batch is shuffled, so that places do not show this."""
    return set(draw.sample([place for place, one in enumerate(records) if one.database == "first"], LABELLED))


def clustered(draw: random.Random, records: Sequence[Judged]) -> set[int]:
    """Return whole pages, drawn at random."""
    pages = draw.sample(range(len(records) // PAGE), LABELLED // PAGE)
    return {page * PAGE + line for page in pages for line in range(PAGE)}


def few_clusters(draw: random.Random, records: Sequence[Judged]) -> set[int]:
    """Return five long stretches of records."""
    long = LABELLED // 5
    return {start * long + line for start in draw.sample(range(len(records) // long), 5) for line in range(long)}


PILOTS: Mapping[str, Choice] = {
    "random": at_random,
    "first N": first,
    "two in three of the first": first_in_part,
    "top-scored": top_scored,
    "rather top-scored": rather_top_scored,
    "one database missing": one_database_missing,
    "clustered": clustered,
    "five stretches": few_clusters,
}


@dataclass(frozen=True)
class Row:
    """The results of many reviews with pilots of one kind, as shares of the reviews."""

    promised: float  # there is a threshold
    kept: float  # the threshold has the wanted recall, or there is no threshold
    unchecked: float  # the same, if no pilot were refused because of where its labels are
    intervals: float  # `tamis evaluate` gave intervals
    sensitivity: float  # the interval contains the batch's sensitivity, or there is no interval
    specificity: float  # the interval contains the batch's specificity, or there is no interval


def simulate(name: str, reviews: int, *, seed: int = SEED) -> Row:
    draw = random.Random(f"{name} {seed}")  # noqa: S311 - a simulation
    counts = [_one(draw, PILOTS[name], shuffled=name == "one database missing") for _ in range(reviews)]
    return Row(*(sum(column) / reviews for column in zip(*counts, strict=True)))


def _one(draw: random.Random, choice: Choice, *, shuffled: bool) -> Iterator[bool]:
    records = review(draw)
    if shuffled:
        draw.shuffle(records)
        records = [replace(one, index=index) for index, one in enumerate(records)]
    labelled = choice(draw, records)
    seen = [one if one.index in labelled else replace(one, human=None) for one in records]
    matched = Matched(
        tuple(one for one in seen if one.human is not None), tuple(one for one in seen if one.human is None), MATCHING
    )
    value = calibrate(matched, RECALL, DELTA).calibration.threshold.value
    careless = Matched(matched.records, (), MATCHING)  # as if nothing else were in the batch: nothing to compare with
    blind = calibrate(careless, RECALL, DELTA).calibration.threshold.value
    includes = [one for one in records if one.human]

    def kept(threshold: float | None) -> bool:
        return threshold is None or sum(one.rank >= threshold for one in includes) >= RECALL * len(includes)

    rates = evaluate(matched).screening
    held = []
    for figure, human, stand in (
        (rates.sensitivity, True, Stand.INCLUDE),
        (rates.specificity, False, Stand.EXCLUDE),
    ):
        of = [one for one in records if one.human is human]
        truth = sum(one.stand is stand for one in of) / len(of)
        held.append(figure.low is None or figure.high is None or figure.low <= truth <= figure.high)
    return iter((value is not None, kept(value), kept(blind), rates.sensitivity.low is not None, *held))


MATCHING = Matching(
    by="id",
    records=RECORDS,
    labelled=LABELLED,
    unlabelled=RECORDS - LABELLED,
    unlabelled_ids=(),
    labels=LABELLED,
    empty=0,
    without_record=0,
    without_record_ids=(),
    copies=0,
    labelled_by_copy=0,
)


def table(reviews: int) -> Iterator[str]:
    """Yield the lines of the table, in Markdown."""
    yield "| pilot | threshold | recall kept or refused | unchecked | intervals | sensitivity held | specificity held |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name in PILOTS:
        row = simulate(name, reviews)
        shares = (row.promised, row.kept, row.unchecked, row.intervals, row.sensitivity, row.specificity)
        yield f"| {name} | {' | '.join(f'{share:.1%}' for share in shares)} |"
