"""A new batch, written as a whole."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from itertools import islice
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.errors import UniqueViolation
from sqlalchemy import (
    AdaptedConnection,
    Connection,
    Integer,
    Uuid,
    and_,
    func,
    insert,
    literal,
    literal_column,
    select,
    update,
)

from tamis_schemas import BatchStatus, IdempotencyConflict, ItemStatus, dollars
from tamis_schemas.ledger import batches, shards, spending
from tamis_schemas.ledger.outages import LedgerConflict
from tamis_schemas.ledger.verdicts import verdict_columns
from tamis_schemas.operations import kind_of

from ..process.waiting import TURN
from ..submission.new_batch import NewBatch, NewItem
from .allowance import admitted


def copy_rows(connection: Connection, statement: str, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows by a `COPY ... FROM STDIN`, in the connection's transaction.

    For an `AsyncConnection`, call this function by its `run_sync`.
    """
    opened = connection.connection
    if isinstance(opened.dbapi_connection, AdaptedConnection):
        opened.dbapi_connection.run_async(lambda driver: _copy_rows(driver, statement, rows))
        return
    driver = opened.driver_connection
    assert driver is not None  # noqa: S101 - an open SQLAlchemy connection has one
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


async def _copy_rows(driver: AsyncConnection[Any], statement: Any, rows: Iterable[Sequence[Any]]) -> None:
    async with driver.cursor() as cursor, cursor.copy(statement) as copy:
        until = time.perf_counter() + TURN
        for row in rows:
            await copy.write_row(row)  # waits only if the server is slow
            if time.perf_counter() >= until:
                await asyncio.sleep(0)
                until = time.perf_counter() + TURN


COPIED_AT_ONCE = 5_000  # items


class CallRepeated(LedgerConflict):
    """A single call is in the ledger already, because its message came twice."""


def insert_batch(connection: Connection, batch: NewBatch) -> UUID:
    """Write a batch with its shards and items, and return its id.

    If an earlier batch has the same idempotency key and content, write nothing, and return the id of that batch. In the
    caller's transaction either everything is written, or nothing.

    Raises:
        IdempotencyConflict: the idempotency key was used for other content, or for a batch with a larger budget.
        NotAllowed: the gateway's key does not allow the batch.
        CallRepeated: an item's `call_id` is in the ledger already; `find_call` finds it.
    """
    if batch.idempotency_key is not None:
        owner = batch.api_key_id or ""
        # Two submissions with one key: the second waits here until the first is committed.
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"{owner}:{batch.idempotency_key}"))))
        query = select(batches.c.id, batches.c.content_sha256, batches.c.max_cost)
        same_key = and_(
            func.coalesce(batches.c.api_key_id, literal_column("''")) == owner,
            batches.c.idempotency_key == batch.idempotency_key,
        )
        earlier = connection.execute(query.where(same_key)).first()
        if earlier is not None:
            if earlier.content_sha256 != batch.content_sha256:
                raise IdempotencyConflict(
                    f"idempotency key {batch.idempotency_key!r} belongs to batch {earlier.id}, "
                    "which has another operation, model, steering or other items: use another key; "
                    f"`tamis status {earlier.id}` shows that batch"
                )
            check_budget(f"batch {earlier.id}", has=earlier.max_cost, asked=batch.max_cost)
            return UUID(str(earlier.id))
    batch = admitted(connection, batch)
    connection.execute(
        insert(batches).values(
            id=batch.id,
            idempotency_key=batch.idempotency_key,
            content_sha256=batch.content_sha256,
            label=batch.label,
            operation=batch.operation,
            **verdict_columns(kind_of(batch.operation)),
            params=batch.params,
            model=batch.model,
            n_items=len(batch.items),
            shard_size=batch.shard_size,
            window_size=batch.window,
            use_cache=batch.use_cache,
            steering=batch.steering.set_fields or None,
            priority=batch.priority.value,
            max_cost=batch.max_cost,
            source=[source.model_dump(mode="json") for source in batch.sources] or None,
            review_id=None if batch.stage is None else batch.stage.review_id,
            stage=None if batch.stage is None else batch.stage.number,
            updates=batch.updates,
            traceparent=batch.traceparent,
            api_key_id=batch.api_key_id,
            service=batch.service,
            callback=None if batch.callback is None else batch.callback.kept(),
        )
    )
    if batch.max_cost is not None:
        connection.execute(insert(spending).values(batch_id=batch.id))
    _insert_shards(connection, batch)
    _copy_items(connection, batch)
    if batch.pause is not None:
        pause = batch.pause.model_dump(mode="json")
        paused = update(batches).where(batches.c.id == batch.id).values(state=BatchStatus.PAUSED, pause=pause)
        connection.execute(paused)  # as a change of state, so that callbacks are sent
    return batch.id


def check_budget(what: str, *, has: Decimal | None, asked: Decimal | None) -> None:
    """Raise `IdempotencyConflict` if the existing batch `what` may spend more than the new submission allows.

    Args:
        what: the existing batch or review, for the message.
        has: the budget of the existing batch. None: no budget.
        asked: the budget of the new submission. None: any existing budget is accepted.
    """
    if asked is not None and (has is None or has > asked):
        budget = "no budget" if has is None else f"a budget of {dollars(has)}"
        raise IdempotencyConflict(
            f"{what} already exists, with {budget} instead of {dollars(asked)}: omit the budget to continue it "
            "unchanged; a new batch needs another idempotency key, and a new review needs `--again`"
        )


def _insert_shards(connection: Connection, batch: NewBatch) -> None:
    size = batch.shard_size
    first = func.generate_series(0, len(batch.items) - 1, size, type_=Integer).column_valued("first")
    slices = select(
        literal(batch.id, Uuid),
        literal(1),
        first / size,
        first,
        func.least(first + size, len(batch.items)),
    )
    connection.execute(insert(shards).from_select(["batch_id", "round", "shard", "first_idx", "end_idx"], slices))


def _copy_items(connection: Connection, batch: NewBatch) -> None:
    """Copy the items in pieces, because the rows of a statement stay in memory until its triggers have run."""
    rows = enumerate(batch.items)
    while _copy_piece(connection, str(batch.id), list(islice(rows, COPIED_AT_ONCE))):
        pass  # binds no name to a piece, so memory holds one piece at a time


def _copy_piece(connection: Connection, batch_id: str, piece: Sequence[tuple[int, NewItem]]) -> bool:
    """Copy these items, each with its place. Return False if there are none."""
    if not piece:
        return False
    with _calls_are_new():
        copy_rows(
            connection,
            "COPY payloads (batch_id, idx, payload, origin, source, call_id) FROM STDIN",
            ((batch_id, index, item.payload, item.origin, item.source, item.call_id) for index, item in piece),
        )
    copy_rows(
        connection,
        "COPY item_states (batch_id, idx, item_id, state) FROM STDIN",
        ((batch_id, index, item.item_id, _state(item)) for index, item in piece),
    )
    excluded = [(index, item.exclusion) for index, item in piece if item.exclusion is not None]
    if excluded:
        copy_rows(
            connection,
            "COPY exclusions (batch_id, idx, rule, exclusion) FROM STDIN",
            ((batch_id, index, exclusion.rule, exclusion.model_dump_json()) for index, exclusion in excluded),
        )
    return True


@contextmanager
def _calls_are_new() -> Iterator[None]:
    try:
        yield
    except UniqueViolation as error:  # waits for the other transaction first
        raise CallRepeated("another batch has a call of this batch already") from error


def _state(item: NewItem) -> str:
    return (ItemStatus.PENDING if item.exclusion is None else ItemStatus.EXCLUDED_BY_FILTER).value
