"""Does the control sample keep its promise, and how much do people read? Simulated reviews with seeds.

    python -m benchmarks.control_samples [--reviews N] [--only coverage|cost]

The first table shows kinds of reviews that could break the promise. People look after every record. The second table
compares the shares of records read with two other rules: the certificate from later samples, and the quantile binomial
coverage bound (QBCB) of Lewis, Yang and Frieder (2021). QBCB's number of includes in the sample is the cheapest of
`INCLUDES_DRAWN` for each cell. The expected number of includes is the true one, if the kind names no other.
"""

import argparse
import random
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import comb
from statistics import median

from . import simulated_reviews
from .control_proposal import AREA, propose
from .control_sample import CONTROL, ControlReading, fewest_missing
from .simulated_reviews import KINDS, Kind, Review, plain, review_of
from .simulated_team import CONFIDENCE, RECALL, Team

REVIEWS = 1_000
RECORDS = 2_000
SEED = 1
DOUBT = 1 - CONFIDENCE
GUESS = 1.0  # the expected number of includes, as a share of the true number
PREVALENCES, AREAS = (0.005, 0.01, 0.03, 0.1, 0.2), (0.8, 0.9, 0.98)
INCLUDES_DRAWN = (59, 93, 124, 153, 181, 208)  # with 0, 1, 2, ... of them unfound, the recall is promised
SKIPPED, CHANGED = 0.05, 0.001  # the shares of records that people skip at first, and whose decision they change
WRONG_GUESSES = (0.5, 2.0)  # times the true number of includes


@dataclass(frozen=True)
class Stop:
    """The point where a team stopped."""

    recall: float  # of the true includes
    read: float  # share of the records that were read
    refused: bool = False  # everything was read, because the control sample promised nothing


@dataclass(frozen=True)
class Hostile:
    """A kind of reviews, the readers' behaviour, and the guess of the number of includes."""

    kind: Kind
    skips: float = 0.0  # share of records that people leave for the end
    changes: float = 0.0  # share of excluded records that people include later
    late_copies: float = 0.0  # share of excluded records that are named copies during reading
    added: bool = False  # halfway, records are added
    guess: float = GUESS
    area: float = AREA  # under the curve of the order, assumed for the size of the sample


HOSTILE: Mapping[str, Hostile] = {
    **{name: Hostile(kind) for name, kind in KINDS.items() if name != "human misses 5 %"},
    "prevalence 0.1 %": Hostile(plain(0.001)),
    "prevalence 50 %": Hostile(plain(0.5)),
    "guess of half": Hostile(plain(0.05), guess=WRONG_GUESSES[0]),
    "guess of twice": Hostile(plain(0.05), guess=WRONG_GUESSES[1]),
    "includes in reverse": Hostile(lambda draw, _: review_of(draw, 0.05, lambda _: 0.1)),
    "readers skip": Hostile(plain(0.05), skips=SKIPPED),
    "copies included late": Hostile(plain(0.05), late_copies=0.05),
    "minds changed": Hostile(plain(0.05), changes=CHANGED),
    "database added halfway": Hostile(plain(0.05), added=True),
}


def read_with_control(review: Review, draw: random.Random, hostile: Hostile, doubt: float = DOUBT * CONTROL) -> Stop:
    """Read in order until the control sample promises the recall, or everything is read. Look after every record."""
    true = list(review.true)
    records, includes = len(true), sum(true)
    size = _size(records, max(5, 5 * round(hostile.guess * includes / 5)), hostile.area)
    inside = set(draw.sample(range(records), size))
    included = behind = sum(true[place] for place in inside)
    unread, changed, added, new = records - size, 0, 0, True
    walk = _Order(review, draw, hostile.skips)
    copies = {place for place in range(records) if draw.random() < hostile.late_copies and not true[place]} - inside
    for reached, place in enumerate(walk):
        if place in copies and reached > records // 2:  # named a copy by now: nobody reads it
            unread -= 1
            continue
        # Between two includes the answer changes only if less is unread than must be missing.
        if new or unread < fewest_missing(included, RECALL):
            reading = ControlReading(records, size, included, behind, unread, changed=changed + added)
            if reading.promises(RECALL, doubt):
                return Stop(included / includes if includes else 1.0, (records - unread) / records)
        new = true[place]
        behind -= place in inside and true[place]
        included += place not in inside and true[place]
        unread -= place not in inside
        changed += not true[place] and draw.random() < hostile.changes
        added += hostile.added and reached == records // 2
    return Stop(1.0, 1.0, refused=bool(changed or added))


@cache
def _size(records: int, includes: int, area: float) -> int:
    proposal = propose(records, includes, RECALL, CONFIDENCE, area)
    return records // 2 if proposal is None else proposal.size


class _Order:
    """The order of a review: the highest scores first, and after an include the other records of its topic.

    It never asks which records are in the sample.
    """

    def __init__(self, review: Review, draw: random.Random, skips: float) -> None:
        self._review = review
        places = sorted(range(len(review.true)), key=lambda place: -review.scores[place])
        skipped = {place for place in places if draw.random() < skips}
        self._order = deque([place for place in places if place not in skipped] + sorted(skipped))
        self._of_topic: dict[int, list[int]] = {}
        for place, topic in enumerate(review.topics):
            self._of_topic.setdefault(topic, []).append(place)

    def __iter__(self) -> Iterator[int]:
        seen: set[int] = set()
        next_ones: deque[int] = deque()
        while next_ones or self._order:
            place = next_ones.popleft() if next_ones else self._order.popleft()
            if place in seen:
                continue
            seen.add(place)
            yield place
            topic = self._review.topics[place]
            if self._review.true[place] and topic >= 0:
                next_ones.extend(self._of_topic.pop(topic, ()))


@cache
def includes_enough(drawn: int) -> int:
    """Return QBCB's bound: the smallest j with P(Bin(drawn, recall) >= j) <= 1 - confidence."""
    chance, enough = 0.0, drawn + 1
    while (
        chance := chance + comb(drawn, enough - 1) * RECALL ** (enough - 1) * (1 - RECALL) ** (drawn - enough + 1)
    ) <= (DOUBT):
        enough -= 1
    return enough


def read_with_qbcb(review: Review, draw: random.Random, drawn: int) -> Stop:
    """Draw records until `drawn` includes are in the sample. Then read in order until enough of these are read."""
    records, includes = len(review.true), sum(review.true)
    at_random = draw.sample(range(records), records)
    finds = [at for at, place in enumerate(at_random) if review.true[place]]
    if includes < drawn:
        return Stop(1.0, 1.0)
    inside = set(at_random[: finds[drawn - 1] + 1])
    read, reached, included = len(inside), 0, drawn
    for place in _Order(review, draw, 0.0):
        if reached == includes_enough(drawn):
            break
        reached += place in inside and review.true[place]
        read += place not in inside
        included += place not in inside and review.true[place]
    return Stop(included / includes, read / records)


@dataclass(frozen=True)
class Coverage:
    """The results of the reviews of one kind, as shares."""

    kept: float  # the recall was reached
    kept_whole: float  # the same, with the whole doubt for the control sample
    refused: float
    read: float  # median


def coverage(name: str, reviews: int, *, seed: int = SEED) -> Coverage:
    """Simulate reviews of one kind of `HOSTILE`."""
    hostile = HOSTILE[name]
    draw = random.Random(f"{name} {seed}")  # noqa: S311 - a simulation
    stops, whole = [], []
    for number in range(reviews):
        review = hostile.kind(draw, number)
        stops.append(read_with_control(review, draw, hostile))
        whole.append(read_with_control(review, draw, hostile, DOUBT))
    return Coverage(
        kept=sum(stop.recall >= RECALL for stop in stops) / reviews,
        kept_whole=sum(stop.recall >= RECALL for stop in whole) / reviews,
        refused=sum(stop.refused for stop in stops) / reviews,
        read=median(stop.read for stop in stops),
    )


@dataclass(frozen=True)
class Cost:
    """The median shares of records read in one cell of the table."""

    control: float
    certificate: float
    qbcb: float


def cost(prevalence: float, area: float, reviews: int, *, seed: int = SEED) -> Cost:
    """Simulate reviews with this share of includes and this area under the curve of the scores."""
    draw = random.Random(f"{prevalence} {area} {seed}")  # noqa: S311 - a simulation
    hostile = Hostile(plain(prevalence), area=area)
    made = [review_of(draw, prevalence, lambda _: area) for _ in range(reviews)]
    return Cost(
        control=median(read_with_control(review, draw, hostile).read for review in made),
        certificate=median(Team(review, draw).read_with_certificate().read for review in made),
        qbcb=min(median(read_with_qbcb(review, draw, drawn).read for review in made) for drawn in INCLUDES_DRAWN),
    )


def coverage_table(reviews: int) -> Iterator[str]:
    """Yield the lines of the table of coverage, in Markdown."""
    yield "| kind | promise kept | with the whole doubt | refused | read |"
    yield "|---|---:|---:|---:|---:|"
    for name in HOSTILE:
        row = coverage(name, reviews)
        yield f"| {name} | {row.kept:.1%} | {row.kept_whole:.1%} | {row.refused:.1%} | {row.read:.1%} |"


def cost_table(reviews: int) -> Iterator[str]:
    """Yield the lines of the table of shares read, in Markdown, and the median ratio."""
    yield "| prevalence | area | control sample | later samples | QBCB | control / later |"
    yield "|---:|---:|---:|---:|---:|---:|"
    ratios = []
    for prevalence in PREVALENCES:
        for area in AREAS:
            row = cost(prevalence, area, reviews)
            ratios.append(row.control / row.certificate)
            yield (
                f"| {prevalence:.1%} | {area} | {row.control:.1%} | {row.certificate:.1%} | {row.qbcb:.1%} | "
                f"{ratios[-1]:.2f} |"
            )
    yield f"\nmedian of control / later: {median(ratios):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.control_samples", description=__doc__)
    parser.add_argument("--reviews", type=int, default=REVIEWS, help="of each kind; a twentieth in each cell of costs")
    parser.add_argument("--only", choices=["coverage", "cost"])
    options = parser.parse_args()
    simulated_reviews.RECORDS = RECORDS
    if options.only != "cost":
        _print(coverage_table(options.reviews))
    if options.only != "coverage":
        _print(cost_table(max(1, options.reviews // 20)))


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
