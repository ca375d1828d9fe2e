"""A team that reads a review whose labels are known: page by page in the reading order, until it may stop.

The labels are the human: a record is decided as its label says. The team reads a page of the order, decides it, and
looks whether it may stop. After `DRY` records without an include it has the unread rest sampled, and goes on: the
sample's records come first on its pages. What it reads from is a *desk*: the real path (`benchmarks.ledger_desk`), or
the same pure functions in this process (`benchmarks.pure_desk`), which give the same pages.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from .asreview_runs import Priors
from .reading_curve import ReadingCurve

PAGE = 20  # records
ONE_BY_ONE = 100  # decisions that are followed by a new order each,
SHARE_ONE_BY_ONE = 0.04  # ... or this share of the records, where that is more
THEN = 5  # decisions for each new order from then on
DRY = 100  # records without an include, then the team samples
RECALL, CONFIDENCE = 0.95, 0.95


@dataclass(frozen=True)
class Look:
    """What the desk says to the question whether people may stop."""

    promised: bool  # the certificate says: enough
    refused: bool  # it says that nothing can be promised, whatever is read
    p: float  # of the estimator
    sampled: int  # records of the sample that are drawn and still to be read


Pace: TypeAlias = Callable[[int], int]  # records read so far -> the number of those to read next


class Desk(Protocol):
    """Where a team reads; rows are the records' places, from 0."""

    def next_rows(self, n: int) -> list[int]:
        """The rows to read next, the first one first; none where everything is read."""

    def decide(self, decisions: Mapping[int, bool]) -> None:
        """Keep what the team says of each row, True for included, in the order in which it read them."""

    def look(self) -> Look:
        """May the team stop?"""

    def draw(self) -> None:
        """Sample the unread rest, as many records as the promise needs if no include is among them."""


@dataclass(frozen=True)
class Read:
    """A review as far as its team read it."""

    order: tuple[int, ...]  # rows
    curve: ReadingCurve
    looks: tuple[tuple[int, Look], ...]  # after so many records

    @property
    def recall(self) -> float:
        """The share of the includes that was found."""
        return self.curve.recall_after(len(self.order))


def pages(_: int) -> int:
    """Every page as long as the other."""
    return PAGE


def at_once(records: int) -> Pace:
    """The order is made anew after each decision, and later after a few: who reads gains most from the first ones."""
    first = max(ONE_BY_ONE, SHARE_ONE_BY_ONE * records)
    return lambda read: 1 if read < first else THEN


def read_until_found(desk: Desk, labels: Sequence[bool], start: Priors, *, pace: Pace = pages) -> Read:
    """Read in the order alone until every include is found: what the order is worth.

    Args:
        desk: of a review that nobody has read.
        labels: what people decide about each record.
        start: two records that are decided before anything is read, and count as read.
        pace: how many records are read before the order is asked again.
    """
    return _Team(desk, labels, pace, samples=False).read(start)


def read_with_certificate(desk: Desk, labels: Sequence[bool], start: Priors) -> Read:
    """Read in pages until the certificate says enough, or everything is read; else as `read_until_found`."""
    return _Team(desk, labels, pages, samples=True).read(start)


class _Team:
    def __init__(self, desk: Desk, labels: Sequence[bool], pace: Pace, *, samples: bool) -> None:
        self._desk, self._labels, self._pace, self._samples = desk, labels, pace, samples
        self._order: list[int] = []
        self._looks: list[tuple[int, Look]] = []
        self._dry = 0

    def read(self, start: Priors) -> Read:
        self._decide([start.included, start.excluded])
        while not self._done() and (rows := self._desk.next_rows(self._pace(len(self._order)))):
            self._decide(rows)
        return Read(tuple(self._order), ReadingCurve.of(self._order, self._labels), tuple(self._looks))

    def _decide(self, rows: Sequence[int]) -> None:
        self._desk.decide({row: self._labels[row] for row in rows})
        self._order += rows
        for row in rows:
            self._dry = 0 if self._labels[row] else self._dry + 1

    def _done(self) -> bool:
        if not self._samples:
            return sum(self._labels[row] for row in self._order) == sum(self._labels)
        look = self._desk.look()
        self._looks.append((len(self._order), look))
        if look.promised or look.refused:
            return True
        if self._dry >= DRY and not look.sampled:
            self._desk.draw()
        return False
