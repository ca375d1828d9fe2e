"""The end of one delivery of an item, as the engine reports it to the Celery adapter."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from tamis_schemas import ErrorKind


@dataclass(frozen=True, slots=True)
class ItemDecided:
    """The end of a delivery whose item was decided, and whose decision is recorded."""

    words: str  # `include 0.92`: no text of the record or the answer


class NoOutcome(StrEnum):
    """The reason why a delivery of an item's message ended without an outcome."""

    CANCELLED = "cancelled"  # no worker will evaluate the item
    RETURNED = "returned"  # the item was begun and returned; it comes again with another message
    SKIPPED = "skipped"  # the batch is paused, or the outcome of another delivery counts
    NOT_BEGUN = "not begun"  # the worker stops before the claim; the same message comes again


ItemEnd: TypeAlias = ItemDecided | ErrorKind | NoOutcome  # an `ErrorKind`: failed and recorded
Retried: TypeAlias = Callable[[ErrorKind], None]  # called for a failed call that is repeated


def untold(kind: ErrorKind) -> None:
    """Do nothing: the default callback of type `Retried`."""
