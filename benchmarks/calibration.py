"""Does `tamis calibrate` keep its promised recall? A thousand simulated reviews of each kind, with a known recall.

    python -m benchmarks.calibration

Each review has 500 includes with scores, and a pilot is a random sample of these. The pilot's threshold is applied to
all 500. The promise is broken if their recall is below 0.95, which may happen in 5 % of reviews. For comparison: the
threshold with a recall of 0.95 on the pilot itself, without a confidence bound.

Then come pilots of several kinds in whole reviews (`benchmarks.pilots`), and the coverage of the intervals of kappa and
AC1 (`benchmarks.agreement_coverage`).
"""

import random
import sys
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import TypeAlias

from tamis_review.quality.pilot import choose_threshold

from . import agreement_coverage, pilots

World: TypeAlias = Callable[[random.Random], list[float]]
Choice: TypeAlias = Callable[[Sequence[float]], float | None]

RECALL, DELTA = 0.95, 0.05
INCLUDES = 500  # of a review
PILOT = 124  # includes in a pilot: two may be missed, and the bound is as sharp as it can be
REVIEWS = 1_000
WHOLE_REVIEWS = 150  # with a pilot of each kind
SAMPLES = 2_000  # of each truth about two raters
SEED = 1


def independent(draw: random.Random) -> list[float]:
    """Return scores that are drawn independently."""
    return [draw.betavariate(5, 2) for _ in range(INCLUDES)]


def clumped(draw: random.Random) -> list[float]:
    """Return scores as models give them: few different values, most of them high, and a few confident exclusions."""
    return draw.choices([0.05, 0.1, 0.2, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95], [2, 2, 1, 5, 10, 15, 15, 30, 20], k=INCLUDES)


def one_value(draw: random.Random) -> list[float]:
    """Return nearly equal scores: just under 95 % of the includes have the same score."""
    return [0.9 if draw.random() < 0.948 else 0.1 for _ in range(INCLUDES)]


def dependent(draw: random.Random) -> list[float]:
    """Return scores of topics with 25 records that the model judges alike, in a review that is easy or hard."""
    hardness = draw.uniform(1, 3)
    return [
        min(1.0, max(0.0, topic + draw.gauss(0, 0.02)))
        for topic in (draw.betavariate(5, hardness) for _ in range(INCLUDES // 25))
        for _ in range(25)
    ]


def with_rules(draw: random.Random) -> list[float]:
    """Return scores of which some are -inf (excluded by rules) and more are inf (referred to a person)."""
    return draw.choices([-inf, inf], [1, 9], k=INCLUDES // 10) + independent(draw)[INCLUDES // 10 :]


WORLDS: Mapping[str, World] = {
    "independent": independent,
    "clumped": clumped,
    "one value": one_value,
    "dependent": dependent,
    "with rules": with_rules,
}


@dataclass(frozen=True)
class Outcome:
    """The result of many simulated reviews."""

    kept: float  # the share of reviews without a broken promise; a refusal breaks none
    refused: float  # the share of reviews without a threshold
    recall: float  # the mean, where there is a threshold


def simulate(world: World, choose: Choice, *, reviews: int = REVIEWS, pilot: int = PILOT, seed: int = SEED) -> Outcome:
    """Simulate reviews of one kind, each with its own pilot, and return how often the threshold kept the recall."""
    draw = random.Random(seed)  # noqa: S311 - a simulation
    recalls = []
    for _ in range(reviews):
        scores = sorted(world(draw))
        value = choose(draw.choices(scores, k=pilot))
        if value is not None:
            recalls.append(1 - bisect_left(scores, value) / len(scores))
    broken = sum(recall < RECALL for recall in recalls)
    return Outcome(1 - broken / reviews, 1 - len(recalls) / reviews, fmean(recalls) if recalls else 1.0)


def with_bound(pilot: Sequence[float]) -> float | None:
    """Return the threshold that `tamis calibrate` chooses."""
    return choose_threshold(pilot, RECALL, DELTA).value


def without_bound(pilot: Sequence[float]) -> float | None:
    """Return the strictest threshold that keeps the recall on the pilot itself."""
    return sorted(pilot)[round(len(pilot) * (1 - RECALL))]


def main() -> None:
    sys.stdout.write(
        f"{REVIEWS:,} reviews of each kind, {PILOT} includes in each pilot, seed {SEED}; wanted: a recall of {RECALL} "
        f"in {1 - DELTA:.0%} of reviews\n\n"
        f"{'scores':<12} {'recall kept':>12} {'refused':>9} {'mean recall':>12} {'kept without a bound':>21}\n"
    )
    for name, world in WORLDS.items():
        found, naive = simulate(world, with_bound), simulate(world, without_bound)
        sys.stdout.write(
            f"{name:<12} {found.kept:>12.1%} {found.refused:>9.1%} {found.recall:>12.4f} {naive.kept:>21.1%}\n"
        )
    sys.stdout.write(
        f"\n{WHOLE_REVIEWS} whole reviews with a pilot of each kind, {pilots.LABELLED} of {pilots.RECORDS:,} records "
        f"labelled, seed {pilots.SEED}; wanted: a recall of {pilots.RECALL} in {1 - pilots.DELTA:.0%}\n\n"
    )
    for line in pilots.table(WHOLE_REVIEWS):
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"\nkappa and AC1: {SAMPLES:,} samples of each truth, seed {agreement_coverage.SEED}\n\n")
    for line in agreement_coverage.table(SAMPLES):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
