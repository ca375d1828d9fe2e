"""Does the certificate keep its promised recall? A thousand simulated reviews of each of eight kinds.

    python -m benchmarks.certificates [--reviews N] [--only KIND]

For comparison: where an estimator of the recall would stop in the same order, and the recall there.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from .simulated_reviews import KINDS, LATE_AREAS, RECORDS, read_by_one, with_late_includes
from .simulated_team import CONFIDENCE, RECALL, Stop, Team

REVIEWS = 1_000
SEED = 1


@dataclass(frozen=True)
class Row:
    """The results of the reviews of one kind, as shares."""

    kept: float  # the recall was reached where it was promised, or there was no promise
    refused: float  # everything was read, and nothing may be promised
    read: float  # the median of the share of the records that were read
    recall: float  # the median
    estimator_kept: float  # the recall was reached where the estimator stopped
    estimator_read: float
    estimator_recall: float


def simulate(name: str, reviews: int, *, seed: int = SEED) -> Row:
    """Simulate reviews of one kind. Each is read twice: with the certificate, and with the estimator."""
    kind = KINDS[name]
    draw = random.Random(f"{name} {seed}")  # noqa: S311 - a simulation
    certificates: list[Stop] = []
    estimates: list[Stop] = []
    for number in range(reviews):
        review = kind(draw, number)
        certificates.append(Team(review, draw).read_with_certificate())
        estimates.append(Team(review, draw).read_with_estimator())
    return Row(
        kept=sum(not one.promised or one.recall >= RECALL for one in certificates) / reviews,
        refused=sum(not one.promised for one in certificates) / reviews,
        read=median(one.read for one in certificates),
        recall=median(one.recall for one in certificates),
        estimator_kept=sum(one.recall >= RECALL for one in estimates) / reviews,
        estimator_read=median(one.read for one in estimates),
        estimator_recall=median(one.recall for one in estimates),
    )


def table(reviews: int, only: str | None = None) -> Iterator[str]:
    """Yield the lines of the table, in Markdown."""
    yield "| kind | promise kept | refused | read | recall | estimator: recall reached | read | recall |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name in KINDS if only is None else (only,):
        row = simulate(name, reviews)
        shares = (row.kept, row.refused, row.read, row.recall, row.estimator_kept, row.estimator_read)
        yield f"| {name} | {' | '.join(f'{share:.1%}' for share in (*shares, row.estimator_recall))} |"


def refused_alone(reviews: int, *, seed: int = SEED) -> float:
    """Return the share of refused reviews if one person reads, who overlooks one include in twenty."""
    draw = random.Random(f"alone {seed}")  # noqa: S311 - a simulation
    made = (read_by_one(draw, number) for number in range(reviews))
    return sum(not Team(review, draw).read_with_certificate().promised for review in made) / reviews


def estimator_right(area: float, reviews: int, *, seed: int = SEED) -> float:
    """Return the share of reviews in which the estimator stops with the recall, although some includes come late.

    `area`: as in `with_late_includes`.
    """
    draw, kind = random.Random(f"late {area} {seed}"), with_late_includes(area)  # noqa: S311 - a simulation
    made = (kind(draw, number) for number in range(reviews))
    return sum(Team(review, draw).read_with_estimator().recall >= RECALL for review in made) / reviews


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.certificates", description=__doc__)
    parser.add_argument("--reviews", type=int, default=REVIEWS, help="of each kind")
    parser.add_argument("--only", choices=list(KINDS), help="one kind")
    given = parser.parse_args()
    sys.stdout.write(
        f"{given.reviews:,} reviews of {RECORDS:,} records of each kind, seed {SEED}; wanted: a recall of {RECALL} "
        f"with a confidence of {CONFIDENCE}\n\n"
    )
    for line in table(given.reviews, given.only):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    if given.only is None:
        sys.stdout.write(
            f"\nhuman misses 5 %, read by one person, a tenth by two: {refused_alone(given.reviews // 10):.1%} of "
            f"{given.reviews // 10:,} reviews are refused\n"
        )
        shares = (f"{estimator_right(area, given.reviews):.1%} (area {area})" for area in LATE_AREAS)
        sys.stdout.write(f"\na tenth of the includes below other records: estimator right in {', '.join(shares)}\n")


if __name__ == "__main__":
    main()
