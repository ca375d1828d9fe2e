"""The figures of a round: every number of a summary, taken from the ledger by SQL."""

from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Float, case, exists, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from tamis_producer.ledger.aggregates import count_values, read_counts, read_totals
from tamis_schemas import (
    ConfidenceDistribution,
    ErrorKind,
    ItemStatus,
    MetricFigures,
    Proportion,
    Summary,
    wilson,
)
from tamis_schemas.batches.summary import CONFIDENCE_BANDS
from tamis_schemas.ledger import batches, evaluations, exclusions, items, results
from tamis_schemas.ledger.verdicts import scalar_text, text_of
from tamis_schemas.operations import kind_of

from ..evaluation.recall import LLM, NOT_ASKED

QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


async def summarise(connection: AsyncConnection, batch_id: UUID) -> Summary:
    """The summary of a batch whose items are all terminal; reads only."""
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
        exclusions=count(exclusions.c.rule, table=exclusions),
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
    """True of the result of a failed item. One that was cancelled before it was asked again keeps its failure's row."""
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
    """The number of values of each metric, what they are, and why there are no more."""
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
    """Items whose recall a model was asked about, out of all with metrics."""
    c = evaluations.c
    asked = (c.label == LLM) & c.reason.is_distinct_from(NOT_ASKED)
    items_of = func.count(c.idx.distinct())
    statement = select(items_of.filter(asked).label("asked"), items_of.label("all")).where(c.batch_id == batch_id)
    row = connection.execute(statement).one()
    return wilson(row.asked, row.all)
