"""What a person asks of the work list of a batch, and which of its records are on the page that follows. No I/O."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice

from tamis_schemas import InvalidParameters, ScreeningMode

from ..decisions.final_outcome import Outcome

USUAL, MOST = 50, 200  # records of a page
LONGEST_SEARCH = 200  # characters
_READERS = {ScreeningMode.SINGLE: 1, ScreeningMode.PAIR: 2, ScreeningMode.MODEL_SECOND: 1}
_CURSOR = "after-"


class WorkOrder(StrEnum):
    """The order of the records."""

    NUMBER = "number"  # of the batch
    NEXT = "next"  # the reading order that is kept
    DISAGREEMENT = "disagreement"  # first the records on which people differ, then those on which a panel's models do


class WorkShow(StrEnum):
    """Which records are shown."""

    TODO = "todo"  # that wait for whoever asks
    MINE = "mine"  # that whoever asks has decided
    ALL = "all"
    CONFLICTS = "conflicts"  # on which people differ, and nobody has settled it


@dataclass(frozen=True)
class WorkQuery:
    """What is asked for; every filter that is given must hold."""

    order: WorkOrder = WorkOrder.NUMBER
    show: WorkShow = WorkShow.TODO
    outcome: Outcome | None = None
    reason: str | None = None  # of an exclusion: in its words, or the label of its criterion
    label: str | None = None  # that people put on it
    flagged: bool = False  # those alone of which a quote is altered, or not in the record
    q: str | None = None  # words that must all occur in the record
    after: str | None = None  # the cursor of the page before
    limit: int = USUAL

    @property
    def words(self) -> list[str]:
        """Return the words that are searched for."""
        return [] if self.q is None else self.q.split()


@dataclass(frozen=True)
class Said:
    """What people decided about a record, as far as a work list needs it."""

    reviewers: tuple[str, ...]  # whose decision stands
    conflict: bool
    settled: bool  # somebody's decision counts before the others'
    first: int  # the number of the oldest of the decisions: the smaller, the earlier
    reason: str | None = None  # of the decision that counts, as the person gave it
    value: object = None  # of the decision that counts

    def waits(self, mode: ScreeningMode, me: str) -> bool:
        """Return whether the record still waits for `me`."""
        return me not in self.reviewers and not self.settled and len(self.reviewers) < _READERS[mode]


def cursor(index: int) -> str:
    """Return the cursor of the page behind the record at this place."""
    return urlsafe_b64encode(f"{_CURSOR}{index}".encode()).decode().rstrip("=")


def place_of(text: str) -> int:
    """Return the place that a cursor stands for. Raises `InvalidParameters` where it is none."""
    try:
        said = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        if said.startswith(_CURSOR) and (digits := said.removeprefix(_CURSOR)).isascii() and digits.isdigit():
            return int(digits)
    except ValueError:
        pass
    raise InvalidParameters(f"after: {text!r} is no cursor; `next` of the page before is one")


def ranked(first: Iterable[int], count: int) -> list[int]:
    """Return all places of a batch of `count` items: those in `first`, each once, then the others as they stand."""
    placed = dict.fromkeys(place for place in first if place < count)
    if not placed:
        return list(range(count))
    return [*placed, *(place for place in range(count) if place not in placed)]


def page(order: Sequence[int], found: Collection[int], after: int | None, limit: int) -> tuple[list[int], int | None]:
    """Return up to `limit` of the places `found`, in this order, and the one behind which the next page begins.

    `after`: the place behind which the page begins; None: it is the first one. The second is None on the last page.
    """
    begin = 0 if after is None else next((n for n, place in enumerate(order, 1) if place == after), len(order))
    listed = list(islice((place for place in islice(order, begin, None) if place in found), limit + 1))
    return listed[:limit], listed[limit - 1] if len(listed) > limit else None


def reading_first(
    sample: Sequence[int], said: dict[int, Said], order: Sequence[int], ruled: Collection[int], *, pairs: bool
) -> Iterable[int]:
    """Return the places in the order in which people read: a sample, what others of a pair read, the rest, rules' last.

    It is that of `next_records.offered`, with the records that are decided.
    """
    read = sorted(said, key=lambda place: said[place].first) if pairs else ()
    return chain(sample, read, (place for place in order if place not in ruled), (p for p in order if p in ruled))
