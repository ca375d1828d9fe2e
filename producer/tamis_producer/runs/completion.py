"""The work that follows a batch's completion.

An application registers a function in the entry points `tamis.batch_completed`. Workers call the function with an
engine of the ledger and the id of a completed batch. The function begins the batch that follows and returns that
batch's id, or None if no batch follows. It may be called several times for the same batch, also by two workers at once.
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
    """Begin the batches that follow a completed batch, such as a review's next stage, unless they have begun already.

    Return the ids of these batches in both cases. May raise `LedgerUnavailable`.
    """
    return [following for begin in _registered() if (following := begin(engine, batch_id)) is not None]
