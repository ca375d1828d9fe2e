"""Closing shards and batches: completion is a fact in the ledger, however often and by whomever it is established."""

import logging
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Row, and_, exists, func, null, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tamis_producer.process import tracing
from tamis_schemas import BatchStatus, ItemStatus
from tamis_schemas.batches.status import check_batch_transition
from tamis_schemas.ledger import batches, items, shards, summaries
from tamis_schemas.ledger.tables import ShardStatus

from .connection import transaction
from .figures import summarise

log = logging.getLogger(__name__)


class Closing(StrEnum):
    """The result of the attempt to close a shard."""

    OPEN = "open"  # items of it are still to be decided
    CLOSED = "closed"  # the batch has more shards
    COMPLETED = "completed"  # it was the last one, or the batch is cancelled: the summary is written


async def close_shard(engine: AsyncEngine, batch_id: UUID, round_: int, shard: int) -> Closing:
    """Close a shard whose items are all terminal; with the last one, write the summary and complete the batch.

    Idempotent: done twice, also at the same time, it has the effect of once. Raises `LedgerUnavailable`.
    """
    async with transaction(engine) as connection:
        # One closing of a batch at a time: two last shards would otherwise each see the other still open.
        batch = (
            await connection.execute(select(batches).where(batches.c.id == batch_id).with_for_update())
        ).one_or_none()
        if batch is None or batch.round != round_:
            return Closing.CLOSED  # a message of an earlier round
        in_round = and_(shards.c.batch_id == batch_id, shards.c.round == round_)
        row = (await connection.execute(select(shards).where(in_round, shards.c.shard == shard))).one()
        if row.state != ShardStatus.AGGREGATED:
            if await _has_open_items(connection, batch_id, row.first_idx, row.end_idx):
                return Closing.OPEN
            await connection.execute(
                update(shards)
                .where(in_round, shards.c.shard == shard)
                .values(state=ShardStatus.AGGREGATED, aggregated_at=func.now())
            )
        state = BatchStatus(batch.state)
        if state is BatchStatus.CANCELLED:
            return Closing.COMPLETED if await _finish_cancelled(connection, batch) else Closing.OPEN
        if state.terminal:
            return Closing.COMPLETED
        unfinished = select(exists().where(in_round, shards.c.state != ShardStatus.AGGREGATED))
        if (await connection.execute(unfinished)).scalar_one():
            return Closing.CLOSED
        check_batch_transition(state, BatchStatus.COMPLETED)
        await connection.execute(
            update(batches)
            .where(batches.c.id == batch_id)
            .values(state=BatchStatus.COMPLETED, pause=null(), finished_at=func.now())
        )
        await _summarise(connection, batch)
        return Closing.COMPLETED


async def close_cancelled(engine: AsyncEngine, batch_id: UUID) -> bool:
    """Write the summary of a cancelled batch whose items are all terminal; whether this was the one to write it.

    Idempotent, as `close_shard`. Raises `LedgerUnavailable`.
    """
    async with transaction(engine) as connection:
        batch = (
            await connection.execute(select(batches).where(batches.c.id == batch_id).with_for_update())
        ).one_or_none()
        if batch is None or batch.state != BatchStatus.CANCELLED or batch.finished_at is not None:
            return False
        return await _finish_cancelled(connection, batch)


async def _finish_cancelled(connection: AsyncConnection, batch: Row[Any]) -> bool:
    """Whether a cancelled batch, whose row is locked, is finished; calls in flight may still be to come."""
    if batch.finished_at is not None:
        return True
    if await _has_open_items(connection, batch.id, 0, batch.n_items):
        return False
    in_round = and_(shards.c.batch_id == batch.id, shards.c.round == batch.round)
    still_open = and_(in_round, shards.c.state != ShardStatus.AGGREGATED)
    await connection.execute(
        update(shards).where(still_open).values(state=ShardStatus.AGGREGATED, aggregated_at=func.now())
    )
    await connection.execute(update(batches).where(batches.c.id == batch.id).values(finished_at=func.now()))
    await _summarise(connection, batch)
    return True


async def _summarise(connection: AsyncConnection, batch: Row[Any]) -> None:
    about = {"tamis.batch_id": str(batch.id), "tamis.round": batch.round}
    with tracing.span("tamis.summary", about, of=batch.traceparent):
        summary = await summarise(connection, batch.id)
        await connection.execute(
            upsert(summaries)
            .values(batch_id=batch.id, round=batch.round, summary=summary.model_dump(mode="json"))
            .on_conflict_do_nothing()
        )
    # Last of all: nobody may wait for this transaction's counters while it waits for anybody.
    if (await connection.execute(select(func.settle_tallies(batch.id)))).scalar_one():
        log.warning("the counters of batch %s were wrong, and are counted anew", batch.id)


async def _has_open_items(connection: AsyncConnection, batch_id: UUID, first: int, end: int) -> bool:
    still_open = exists().where(
        items.c.batch_id == batch_id,
        items.c.idx >= first,
        items.c.idx < end,
        items.c.state.in_([status.value for status in ItemStatus if not status.terminal]),
    )
    return bool((await connection.execute(select(still_open))).scalar_one())
