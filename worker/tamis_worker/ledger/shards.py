"""The closing of shards and batches. Closing a shard or batch a second time changes nothing.

Closing a batch writes its summary. SQL computes all numbers of the summary from the ledger.
"""

import logging
from enum import StrEnum
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Float, Row, and_, case, exists, func, null, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tamis_producer.ledger.aggregates import count_values, read_counts, read_totals
from tamis_producer.process import tracing
from tamis_schemas import (
    BatchStatus,
    ConfidenceDistribution,
    ErrorKind,
    ItemStatus,
    MetricFigures,
    Proportion,
    Summary,
    wilson,
)
from tamis_schemas.batches.status import check_batch_transition
from tamis_schemas.batches.summary import CONFIDENCE_BANDS
from tamis_schemas.ledger import batches, evaluations, exclusions, items, results, shards, summaries
from tamis_schemas.ledger.tables import ShardStatus
from tamis_schemas.ledger.verdicts import scalar_text, text_of
from tamis_schemas.operations import kind_of

from ..evaluation import LLM, NOT_ASKED
from .connection import transaction

log = logging.getLogger(__name__)

QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


class Closing(StrEnum):
    """The result of an attempt to close a shard."""

    OPEN = "open"  # some items have not ended
    CLOSED = "closed"  # the shard is closed, or of an earlier round; the batch has open shards
    COMPLETED = "completed"  # the batch has no open shard, or is cancelled; its summary is written


async def close_shard(engine: AsyncEngine, batch_id: UUID, round_: int, shard: int) -> Closing:
    """Close a shard if all its items have ended. After the last shard, write the summary and complete the batch.

    The function is idempotent, also for simultaneous calls. Raise `LedgerUnavailable` if Postgres does not answer.
    """
    async with transaction(engine) as connection:
        # One closing of a batch at a time: otherwise two last shards could each see the other one open.
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
    """Write the summary of a cancelled batch if all its items have ended. Return True if this call wrote the summary.

    The function is idempotent. Raise `LedgerUnavailable` if Postgres does not answer.
    """
    async with transaction(engine) as connection:
        batch = (
            await connection.execute(select(batches).where(batches.c.id == batch_id).with_for_update())
        ).one_or_none()
        if batch is None or batch.state != BatchStatus.CANCELLED or batch.finished_at is not None:
            return False
        return await _finish_cancelled(connection, batch)


async def _finish_cancelled(connection: AsyncConnection, batch: Row[Any]) -> bool:
    """Finish a cancelled batch, whose row is locked. Return False if some of its items have not ended."""
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
    # Last of all: no transaction may wait for this one's counters while this one waits.
    if (await connection.execute(select(func.settle_tallies(batch.id)))).scalar_one():
        log.warning("the counters of batch %s were wrong and were recounted", batch.id)


async def _has_open_items(connection: AsyncConnection, batch_id: UUID, first: int, end: int) -> bool:
    still_open = exists().where(
        items.c.batch_id == batch_id,
        items.c.idx >= first,
        items.c.idx < end,
        items.c.state.in_([status.value for status in ItemStatus if not status.terminal]),
    )
    return bool((await connection.execute(select(still_open))).scalar_one())


async def summarise(connection: AsyncConnection, batch_id: UUID) -> Summary:
    """Return the summary of a batch whose items have all ended. Nothing is written."""
    return await connection.run_sync(_summary, batch_id)


def _summary(connection: Connection, batch_id: UUID) -> Summary:
    batch = connection.execute(select(batches).where(batches.c.id == batch_id)).one()
    count = partial(count_values, connection, batch_id)
    kind, decided = kind_of(batch.operation), results.c.error_kind.is_(None)
    countable = kind.decides() or kind.few_values
    values = count(scalar_text(results.c.value), decided) if countable else {}
    counts = read_counts(connection, batch_id, batch.n_items)
    metrics = _metrics(connection, batch_id)
    started_at = batch.started_at or batch.finished_at  # a batch may be cancelled before its first dispatch
    passed = values.get(text_of(kind.includes) or "", 0)
    return Summary(
        batch_id=str(batch_id),
        round=batch.round,
        operation=batch.operation,
        counts=counts,
        values=values,
        pass_rate=wilson(passed, counts.decided) if kind.decides() else wilson(0, 0),
        errors={ErrorKind(name): n for name, n in count(results.c.error_kind, _failed()).items()},
        exclusions=count(exclusions.c.rule, exclusions.c.copy_of.is_(None), table=exclusions),
        confidence=_confidence(connection, batch_id),
        evaluations=metrics,
        recall_escalations=_escalations(connection, batch_id) if metrics else None,
        **read_totals(connection, batch_id),
        wall_seconds=(batch.finished_at - started_at).total_seconds(),
        models=count(results.c.model),
        tiers=count(results.c.tier),
        finished_at=batch.finished_at,
    )


def _failed() -> ColumnElement[bool]:
    """Return an SQL condition that is true for results whose item is failed.

    The result alone does not show this: a failed item can be cancelled later.
    """
    same = (items.c.batch_id == results.c.batch_id) & (items.c.idx == results.c.idx)
    return exists().where(same, items.c.state == ItemStatus.FAILED)


def _confidence(connection: Connection, batch_id: UUID) -> ConfidenceDistribution:
    confidence = results.c.confidence
    band = case(*((confidence >= least, name) for name, least in CONFIDENCE_BANDS))
    decided = results.c.error_kind.is_(None)
    bands = count_values(connection, batch_id, band, decided)
    statement = select(
        func.avg(confidence).cast(Float),
        *(func.percentile_cont(q).within_group(confidence) for q in QUARTILES),
    ).where(results.c.batch_id == batch_id, decided)
    mean, low, lower, middle, upper, high = connection.execute(statement).one()
    return ConfidenceDistribution(
        bands={name: bands.get(name, 0) for name, _ in CONFIDENCE_BANDS},
        mean=mean,
        minimum=low,
        lower_quartile=lower,
        median=middle,
        upper_quartile=upper,
        maximum=high,
    )


def _metrics(connection: Connection, batch_id: UUID) -> dict[str, MetricFigures]:
    """Return the figures of each metric, with the number of missing values for each reason."""
    c = evaluations.c
    statement = (
        select(
            *(c.label, c.category, c.reason, func.count().label("n")),
            *(func.avg(c.score).cast(Float).label("mean"), func.min(c.score).label("minimum")),
        )
        .where(c.batch_id == batch_id)
        .group_by(c.label, c.category, c.reason)
        .order_by(c.label, func.count().desc(), c.category, c.reason)
    )
    by_label: dict[str, MetricFigures] = {}
    for row in connection.execute(statement):
        figures = by_label.get(row.label, MetricFigures(n=0))
        if row.reason is not None:
            changes: dict[str, Any] = {"without": figures.without | {row.reason: row.n}}
        elif row.category is not None:
            changes = {"n": figures.n + row.n, "categories": figures.categories | {row.category: row.n}}
        else:
            changes = {"n": row.n, "mean": row.mean, "minimum": row.minimum}
        by_label[row.label] = figures.model_copy(update=changes)
    return by_label


def _escalations(connection: Connection, batch_id: UUID) -> Proportion:
    """Return the share of items whose recall a model was asked to judge, among the items with metrics."""
    c = evaluations.c
    escalated = (c.label == LLM) & c.reason.is_distinct_from(NOT_ASKED)
    items_of = func.count(c.idx.distinct())
    statement = select(items_of.filter(escalated).label("asked"), items_of.label("all")).where(c.batch_id == batch_id)
    row = connection.execute(statement).one()
    return wilson(row.asked, row.all)
