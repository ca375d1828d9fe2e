"""Pausing, resuming and cancelling a batch, and changing its priority. Workers read these changes in the ledger.

Calls in flight finish, and their results are kept. Workers release other claimed items within seconds. Each function is
idempotent, and runs in the caller's transaction.
"""

from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, DateTime, Row, and_, cast, func, null, select, update

from tamis_schemas import (
    BatchStatus,
    IllegalTransition,
    InvalidParameters,
    ItemStatus,
    Pause,
    PauseKind,
    Priority,
    UnknownBatch,
    dollars,
)
from tamis_schemas.ledger import batches, items, shards
from tamis_schemas.ledger.tables import ShardStatus
from tamis_schemas.operations import models_in

from ..ledger.allowance import check_models, larger_budget
from ..submission.budget import amount_of, has_none

REQUESTED = Pause(kind=PauseKind.REQUESTED)


def pause(connection: Connection, batch_id: UUID) -> None:
    """Pause the batch: no further item starts.

    If the batch is paused already, only a pause that would end by itself is replaced.

    Raises `IllegalTransition` if the batch is completed or cancelled.
    """
    batch = _locked(connection, batch_id, "pause")
    if batch.state != BatchStatus.PAUSED or Pause.model_validate(batch.pause).until is not None:
        _set(connection, batch_id, state=BatchStatus.PAUSED, pause=REQUESTED.model_dump(mode="json"))


def resume(connection: Connection, batch_id: UUID, max_cost: Decimal | None = None) -> tuple[str | None, ...]:
    """Resume the batch, with a new budget if `max_cost` is set. The caller dispatches shards afterwards.

    If the batch was paused because an endpoint asked to wait, return the batch's models: the caller may let workers ask
    them at once. A None in the tuple means the workers' model. After any other pause, the tuple is empty.

    Shards that were in flight at the pause are dispatched again. Their old messages do no harm. A batch that is not
    paused can still get a new budget.

    Raises:
        InvalidParameters: `max_cost` is not an amount, or is set for a batch without a budget. Also raised if the
            budget is used up and `max_cost` is not larger.
        AllowanceSpent: the key that submitted the batch allows no larger budget.
        NotAllowed: the batch is paused because its key may not ask its model, and this has not changed.
        IllegalTransition: the batch is completed or cancelled.
    """
    amount = None if max_cost is None else amount_of(max_cost)
    batch = _locked(connection, batch_id, "resume")
    if amount is not None and batch.max_cost is None:
        raise has_none(batch_id)
    amount = None if amount is None else larger_budget(connection, batch, amount)
    paused = None if batch.pause is None else Pause.model_validate(batch.pause)
    if paused is not None and paused.kind is PauseKind.PERMISSION:
        check_models(connection, batch)
    used_up = paused is not None and paused.kind is PauseKind.BUDGET and batch.max_cost is not None
    if used_up and (amount is None or amount <= batch.max_cost):
        raise InvalidParameters(
            f"max_cost: batch {batch_id} has used up its budget of {dollars(batch.max_cost)}; resume it with a larger "
            f"one: `tamis resume {batch_id} --max-cost AMOUNT`"
        )
    if amount is not None:
        _set(connection, batch_id, max_cost=amount)
    if batch.state != BatchStatus.PAUSED:
        return ()
    started_at = func.coalesce(batches.c.started_at, func.now())
    _set(connection, batch_id, state=BatchStatus.RUNNING, pause=null(), started_at=started_at)
    requeue_shards(connection, batch)
    waited = paused is not None and paused.kind is PauseKind.RATE_LIMITED
    return models_in(batch.params, batch.model) if waited else ()


def resume_due(connection: Connection) -> list[UUID]:
    """Resume the batches whose pause had a time limit that is over, and return their ids.

    The caller dispatches the batches' shards afterwards.
    """
    until = cast(batches.c.pause["until"].as_string(), DateTime(timezone=True))
    due = select(batches.c.id).where(
        batches.c.finished_at.is_(None),
        batches.c.state == BatchStatus.PAUSED,
        batches.c.purging_at.is_(None),
        until <= func.now(),
    )
    resumed = list(connection.execute(due.with_for_update(skip_locked=True)).scalars())
    for batch_id in resumed:
        resume(connection, batch_id)
    return resumed


def set_priority(connection: Connection, batch_id: UUID, priority: Priority) -> None:
    """Change the batch's priority from now on. The caller dispatches shards afterwards.

    Shards in flight are dispatched again, to a queue of the new priority. Their old messages do no harm, because an
    item is claimed only once. Raises `IllegalTransition` if the batch is completed or cancelled.
    """
    batch = _locked(connection, batch_id, "prioritise")
    if batch.priority != priority:
        _set(connection, batch_id, priority=priority.value, lane=None)
        requeue_shards(connection, batch)


def cancel(connection: Connection, batch_id: UUID) -> None:
    """Cancel the batch: pending items at once, and claimed items when workers release them.

    A worker writes the summary afterwards. Raises `IllegalTransition` if the batch is completed.
    """
    if _locked(connection, batch_id, "cancel").state == BatchStatus.CANCELLED:
        return
    _set(connection, batch_id, state=BatchStatus.CANCELLED, pause=null(), finished_at=None)
    connection.execute(
        update(items)
        .where(items.c.batch_id == batch_id, items.c.state == ItemStatus.PENDING)
        .values(state=ItemStatus.CANCELLED)
    )


def priority_of(name: Priority | str) -> Priority:
    """Return a priority by its name. Raises `InvalidParameters`, which lists the valid names, for any other name."""
    try:
        return Priority(name)
    except ValueError as error:
        names = ", ".join(priority.value for priority in Priority)
        raise InvalidParameters(f"priority: {name!r} is not one of {names}") from error


def _locked(connection: Connection, batch_id: UUID, verb: str) -> Row[Any]:
    """Return the batch, locked until the end of this transaction.

    Raises `IllegalTransition` if the batch has ended; a cancelled batch may be cancelled again. Raises `UnknownBatch`
    if there is no such batch. `verb`: the requested change, for the message.
    """
    batch = connection.execute(select(batches).where(batches.c.id == batch_id).with_for_update()).one_or_none()
    if batch is None or batch.purging_at is not None:
        raise UnknownBatch(f"there is no batch {batch_id}")
    if batch.state == BatchStatus.COMPLETED or (batch.state == BatchStatus.CANCELLED and verb != "cancel"):
        raise IllegalTransition(
            f"batch {batch_id} is {batch.state}: there is nothing to {verb}; `tamis status {batch_id}` shows its "
            "outcome"
        )
    return batch


def requeue_shards(connection: Connection, batch: Row[Any]) -> None:
    """Mark the shards in flight as waiting, so that they are dispatched again."""
    dispatched = and_(shards.c.round == batch.round, shards.c.state == ShardStatus.DISPATCHED)
    connection.execute(
        update(shards)
        .where(shards.c.batch_id == batch.id, dispatched)
        .values(state=ShardStatus.WAITING)  # `dispatched_at` stays: a worker may hold its items
    )


def _set(connection: Connection, batch_id: UUID, **values: Any) -> None:
    connection.execute(update(batches).where(batches.c.id == batch_id).values(**values))
