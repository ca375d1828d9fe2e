"""The states of items and batches, the legal transitions, and the priority of a batch.

Triggers in the ledger enforce the same transitions for every writer.
"""

from collections.abc import Mapping
from enum import StrEnum

from ..errors import IllegalTransition


class ItemStatus(StrEnum):
    """The state of an item. The numbers of items in all states always add up to the batch's number of items."""

    PENDING = "pending"
    RUNNING = "running"
    DECIDED = "decided"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXCLUDED_BY_FILTER = "excluded_by_filter"

    @property
    def terminal(self) -> bool:
        """True if nothing more will happen to the item in this round."""
        return self not in (ItemStatus.PENDING, ItemStatus.RUNNING)


class BatchStatus(StrEnum):
    """The state of a batch."""

    PENDING = "pending"  # in the ledger, nothing dispatched yet
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"  # every item terminal, summary written
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """True if the batch has ended: nothing more is dispatched unless a user asks for it."""
        return self in (BatchStatus.COMPLETED, BatchStatus.CANCELLED)


ITEM_TRANSITIONS: Mapping[ItemStatus, frozenset[ItemStatus]] = {
    # a claim; a cancelled batch
    ItemStatus.PENDING: frozenset({ItemStatus.RUNNING, ItemStatus.CANCELLED, ItemStatus.FAILED}),
    # a result; a claim whose worker died or returned it
    ItemStatus.RUNNING: frozenset({ItemStatus.DECIDED, ItemStatus.FAILED, ItemStatus.PENDING}),
    # a new round
    ItemStatus.FAILED: frozenset({ItemStatus.PENDING}),
    ItemStatus.CANCELLED: frozenset({ItemStatus.PENDING}),
    ItemStatus.DECIDED: frozenset(),
    ItemStatus.EXCLUDED_BY_FILTER: frozenset(),
}

BATCH_TRANSITIONS: Mapping[BatchStatus, frozenset[BatchStatus]] = {
    BatchStatus.PENDING: frozenset({BatchStatus.RUNNING, BatchStatus.PAUSED, BatchStatus.CANCELLED}),
    BatchStatus.RUNNING: frozenset({BatchStatus.COMPLETED, BatchStatus.PAUSED, BatchStatus.CANCELLED}),
    # completed: the last items were in flight at the pause
    BatchStatus.PAUSED: frozenset({BatchStatus.RUNNING, BatchStatus.COMPLETED, BatchStatus.CANCELLED}),
    # a new round of the failed items
    BatchStatus.COMPLETED: frozenset({BatchStatus.RUNNING}),
    BatchStatus.CANCELLED: frozenset({BatchStatus.RUNNING}),
}


def check_batch_transition(before: BatchStatus, after: BatchStatus) -> None:
    """Raise `IllegalTransition`, which names both states, if `after` may not follow `before`."""
    if after not in BATCH_TRANSITIONS[before]:
        raise IllegalTransition(f"a batch cannot change from {before.value!r} to {after.value!r}")


class Priority(StrEnum):
    """The rank of a batch among batches that wait for the same workers and rate limit. No batch waits for ever."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"

    @property
    def weight(self) -> int:
        """The share of calls relative to other priorities, while batches compete: 1, 4 or 16."""
        return _WEIGHTS[self]


_WEIGHTS = {Priority.LOW: 1, Priority.NORMAL: 4, Priority.HIGH: 16}
