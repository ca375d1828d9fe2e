"""The closing of shards (ranges of a batch's items) and of batches. A second closing changes nothing.

Closing a batch writes its summary. SQL computes all numbers of the summary from the ledger.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Float,
    Row,
    case,
    exists,
    func,
    null,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tamis_producer.ledger.aggregates import BATCH, all_counts, counting, counts_of, read_totals
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
from tamis_schemas.ledger import batches, evaluations, exclusions, items, results, summaries
from tamis_schemas.ledger.tables import ShardStatus
from tamis_schemas.ledger.verdicts import scalar_text, text_of
from tamis_schemas.operations import kind_of

from ..evaluation import LLM, NOT_ASKED
from .connection import transaction

log = logging.getLogger(__name__)

QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


_LOCKED = select(batches).where(batches.c.id == BATCH).with_for_update()
_SHARD = text("""
SELECT s.state,
       EXISTS (SELECT FROM item_states i WHERE i.batch_id = s.batch_id AND i.idx >= s.first_idx AND i.idx < s.end_idx
               AND i.state IN ('pending', 'running')) AS open_items,
       EXISTS (SELECT FROM shards o WHERE o.batch_id = s.batch_id AND o.round = s.round AND o.shard <> s.shard
               AND o.state <> 'aggregated') AS open_shards
FROM shards s WHERE s.batch_id = :batch_id AND s.round = :round AND s.shard = :shard
""")
_OPEN_ITEMS = text("SELECT 1 FROM item_states WHERE batch_id = :batch_id AND state IN ('pending', 'running') LIMIT 1")
_AGGREGATED = text("""
UPDATE shards SET state = 'aggregated', aggregated_at = now()
WHERE batch_id = :batch_id AND round = :round AND state <> 'aggregated'
  AND (CAST(:shards AS int[]) IS NULL OR shard = ANY(CAST(:shards AS int[])))
""")


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
        batch = (await connection.execute(_LOCKED, {"batch_id": batch_id})).one_or_none()
        if batch is None or batch.round != round_:
            return Closing.CLOSED  # a message of an earlier round
        row = (await connection.execute(_SHARD, {"batch_id": batch_id, "round": round_, "shard": shard})).one()
        if row.state != ShardStatus.AGGREGATED:
            if row.open_items:
                return Closing.OPEN
            await connection.execute(_AGGREGATED, {"batch_id": batch_id, "round": round_, "shards": [shard]})
        state = BatchStatus(batch.state)
        if state is BatchStatus.CANCELLED:
            return Closing.COMPLETED if await _finish_cancelled(connection, batch) else Closing.OPEN
        if state.terminal:
            return Closing.COMPLETED
        if row.open_shards:
            return Closing.CLOSED
        check_batch_transition(state, BatchStatus.COMPLETED)
        await _finish(connection, batch_id, state=BatchStatus.COMPLETED, pause=null())
        return Closing.COMPLETED


async def close_cancelled(engine: AsyncEngine, batch_id: UUID) -> bool:
    """Write the summary of a cancelled batch if all its items have ended. Return True if this call wrote the summary.

    The function is idempotent. Raise `LedgerUnavailable` if Postgres does not answer.
    """
    async with transaction(engine) as connection:
        batch = (await connection.execute(_LOCKED, {"batch_id": batch_id})).one_or_none()
        if batch is None or batch.state != BatchStatus.CANCELLED or batch.finished_at is not None:
            return False
        return await _finish_cancelled(connection, batch)


async def _finish_cancelled(connection: AsyncConnection, batch: Row[Any]) -> bool:
    """Finish a cancelled batch. The caller has locked its row. Return False if some of its items have not ended."""
    if batch.finished_at is not None:
        return True
    if (await connection.execute(_OPEN_ITEMS, {"batch_id": batch.id})).first() is not None:
        return False
    await connection.execute(_AGGREGATED, {"batch_id": batch.id, "round": batch.round, "shards": None})
    await _finish(connection, batch.id)
    return True


async def _finish(connection: AsyncConnection, batch_id: UUID, **changes: Any) -> None:
    """Mark a batch as finished, set the columns in `changes`, and write the batch's summary."""
    finished = update(batches).where(batches.c.id == batch_id).values(finished_at=func.now(), **changes)
    batch = (await connection.execute(finished.returning(batches))).one()
    about = {"tamis.batch_id": str(batch.id), "tamis.round": batch.round}
    with tracing.span("tamis.summary", about, of=batch.traceparent):
        summary = await connection.run_sync(summarise, batch)
        await connection.execute(
            upsert(summaries)
            .values(batch_id=batch.id, round=batch.round, summary=summary.model_dump(mode="json"))
            .on_conflict_do_nothing()
        )
    # Last of all: no transaction may wait for this one's counters while this one waits.
    if (await connection.execute(select(func.settle_tallies(batch.id)))).scalar_one():
        log.warning("the counters of batch %s were wrong and were recounted", batch.id)


def summarise(connection: Connection, batch: Row[Any]) -> Summary:
    """Return the summary of a batch whose items have all ended. `batch`: its row in `batches`. Nothing is written."""
    batch_id, kind = batch.id, kind_of(batch.operation)
    counted: dict[str, dict[str, int]] = defaultdict(dict)
    for row in connection.execute(_counts(batch.operation), {"batch_id": batch_id}):
        counted[row.key][row.name] = row.n
    values, counts = counted["values"], counts_of(counted["states"], batch.n_items)
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
        errors={ErrorKind(name): n for name, n in counted["errors"].items()},
        exclusions=counted["exclusions"],
        confidence=_confidence(connection, batch_id, counted["bands"]),
        evaluations=metrics,
        recall_escalations=_escalations(connection, batch_id) if metrics else None,
        **read_totals(connection, batch_id),
        wall_seconds=(batch.finished_at - started_at).total_seconds(),
        models=counted["models"],
        tiers=counted["tiers"],
        finished_at=batch.finished_at,
    )


@cache
def _counts(operation: str) -> CompoundSelect[str, str, int]:
    kind, decided, confidence = kind_of(operation), results.c.error_kind.is_(None), results.c.confidence
    countable = {"values": counting(scalar_text(results.c.value), decided)} if kind.decides() or kind.few_values else {}
    return all_counts(
        states=counting(items.c.state, table=items),
        errors=counting(results.c.error_kind, _failed()),
        exclusions=counting(exclusions.c.rule, exclusions.c.copy_of.is_(None), table=exclusions),
        bands=counting(case(*((confidence >= least, name) for name, least in CONFIDENCE_BANDS)), decided),
        models=counting(results.c.model),
        tiers=counting(results.c.tier),
        **countable,
    )


def _failed() -> ColumnElement[bool]:
    """Return an SQL condition that is true for results whose item is still failed.

    The result alone does not show the item's state: a failed item can be cancelled later.
    """
    same = (items.c.batch_id == results.c.batch_id) & (items.c.idx == results.c.idx)
    return exists().where(same, items.c.state == ItemStatus.FAILED)


_CONFIDENCE = select(
    func.avg(results.c.confidence).cast(Float),
    *(func.percentile_cont(q).within_group(results.c.confidence) for q in QUARTILES),
).where(results.c.batch_id == BATCH, results.c.error_kind.is_(None))


def _confidence(connection: Connection, batch_id: UUID, bands: Mapping[str, int]) -> ConfidenceDistribution:
    mean, low, lower, middle, upper, high = connection.execute(_CONFIDENCE, {"batch_id": batch_id}).one()
    return ConfidenceDistribution(
        bands={name: bands.get(name, 0) for name, _ in CONFIDENCE_BANDS},
        mean=mean,
        minimum=low,
        lower_quartile=lower,
        median=middle,
        upper_quartile=upper,
        maximum=high,
    )


_METRICS = (
    select(
        *(evaluations.c.label, evaluations.c.category, evaluations.c.reason, func.count().label("n")),
        *(func.avg(evaluations.c.score).cast(Float).label("mean"), func.min(evaluations.c.score).label("minimum")),
    )
    .where(evaluations.c.batch_id == BATCH)
    .group_by(evaluations.c.label, evaluations.c.category, evaluations.c.reason)
    .order_by(evaluations.c.label, func.count().desc(), evaluations.c.category, evaluations.c.reason)
)


def _metrics(connection: Connection, batch_id: UUID) -> dict[str, MetricFigures]:
    """Return each metric's figures by its label. The figures include the number of missing values for each reason."""
    by_label: dict[str, MetricFigures] = {}
    for row in connection.execute(_METRICS, {"batch_id": batch_id}):
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
