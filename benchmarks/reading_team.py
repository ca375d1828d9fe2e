"""A simulated team that reads a review with known labels: page by page in the reading order, until it may stop.

The team decides each record as its label says. It reads a page, decides its records, and checks whether it may stop.
After `DRY` records without an include, it requests a sample of the unread records. The sample's records come first on
the next pages. A *desk* gives the pages: through the ledger (`benchmarks.ledger_desk`), or with the same pure functions
in this process (`benchmarks.pure_desk`). Both give the same pages.
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
    """The desk's answer to the question whether people may stop."""

    promised: bool  # the certificate confirms the recall
    refused: bool  # the certificate cannot confirm it, even if everything is read
    p: float  # p value of the estimator
    sampled: int  # records of the sample that are not read yet


Pace: TypeAlias = Callable[[int], int]  # records read so far -> the number of those to read next


class Desk(Protocol):
    """The source of a team's pages. Rows are the records' places, from 0."""

    def next_rows(self, n: int) -> list[int]:
        """Return up to `n` rows to read next, in order; none if everything is read."""

    def decide(self, decisions: Mapping[int, bool]) -> None:
        """Store the team's decisions (True: included), in the order of reading."""

    def look(self) -> Look:
        """Return whether the team may stop."""

    def draw(self) -> None:
        """Sample as many unread records as the certificate needs if no include is among them."""


@dataclass(frozen=True)
class Read:
    """The part of a review that a team has read."""

    order: tuple[int, ...]  # rows in the order of reading
    curve: ReadingCurve
    looks: tuple[tuple[int, Look], ...]  # number of records read, and the desk's answer then

    @property
    def recall(self) -> float:
        """The share of the includes that the team found."""
        return self.curve.recall_after(len(self.order))


def pages(_: int) -> int:
    """Return the length of a page, which is always the same."""
    return PAGE


def at_once(records: int) -> Pace:
    """Return a pace: the order is updated after each decision at first, later after every fifth decision."""
    first = max(ONE_BY_ONE, SHARE_ONE_BY_ONE * records)
    return lambda read: 1 if read < first else THEN


def read_until_found(desk: Desk, labels: Sequence[bool], start: Priors, *, pace: Pace = pages) -> Read:
    """Read in the order of the desk until every include is found. No sample is drawn.

    Args:
        desk: the desk of an unread review.
        labels: the decision about each record.
        start: two records that are decided first, and count as read.
        pace: gives the number of records to read before the desk is asked again.
    """
    return _Team(desk, labels, pace, samples=False).read(start)


def read_with_certificate(desk: Desk, labels: Sequence[bool], start: Priors) -> Read:
    """Read in pages until the certificate confirms the recall, or cannot confirm it, or everything is read."""
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
