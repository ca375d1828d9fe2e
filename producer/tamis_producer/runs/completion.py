"""The consequences of a batch's completion.

An application registers a function in the entry points `tamis.batch_completed`. Workers call the function with an
engine of the ledger and the id of a completed batch. The function returns the id of the batch that follows, or None.
It may be called again for the same batch, and by two workers at once.
"""

import logging
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import TypeAlias
from uuid import UUID

from sqlalchemy import Engine

GROUP = "tamis.batch_completed"

log = logging.getLogger(__name__)

BatchCompleted: TypeAlias = Callable[[Engine, UUID], UUID | None]


@cache
def _registered() -> tuple[BatchCompleted, ...]:
    hooks = tuple(point.load() for point in entry_points(group=GROUP))
    if not hooks:  # without an installation there are no entry points
        log.warning("no hook is registered in %r: this process begins no further stage of a review", GROUP)
    return hooks


def follow(engine: Engine, batch_id: UUID) -> list[UUID]:
    """Begin the batches that follow a completed batch, unless they have begun already. Return their ids in any case.

    Raises `LedgerUnavailable`.
    """
    return [following for begin in _registered() if (following := begin(engine, batch_id)) is not None]
