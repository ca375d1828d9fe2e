"""The end of one delivery of an item: what the core tells whoever brought it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from tamis_schemas import ErrorKind


@dataclass(frozen=True, slots=True)
class ItemDecided:
    """The item is decided, and the ledger has it."""

    words: str  # `include 0.92`: neither text of the record nor of the answer


class NoOutcome(StrEnum):
    """Why this delivery gave the item no outcome."""

    CANCELLED = "cancelled"  # nobody evaluates it any more
    RETURNED = "returned"  # it was begun and given back: it comes again with another message
    SKIPPED = "skipped"  # it was not begun, or in vain: its batch is paused, or another delivery's outcome counts
    NOT_BEGUN = "not begun"  # the worker stops before it is claimed: the same message comes again


ItemEnd: TypeAlias = ItemDecided | ErrorKind | NoOutcome  # an `ErrorKind`: it has failed, and the ledger has it
Retried: TypeAlias = Callable[[ErrorKind], None]  # is told of a call that failed, where another one follows


def untold(kind: ErrorKind) -> None:
    """Nobody wants to know of retries."""
