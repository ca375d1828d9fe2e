"""The figures of a round: every number of a summary, taken from the ledger by SQL."""

from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Float, Table, case, exists, func, literal_column, select
from sqlalchemy.ext.asyncio import AsyncConnection

from tamis_schemas import (
    ConfidenceDistribution,
    Counts,
    ErrorKind,
    Filter,
    Inclusion,
    InclusionStatus,
    ItemStatus,
    Judge,
    MetricFigures,
    Proportion,
    Summary,
    UncertainReason,
    possibly_unbilled_cost,
    wilson,
)
from tamis_schemas.batches.summary import CONFIDENCE_BANDS
from tamis_schemas.ledger import batches, evaluations, exclusions, items, results
from tamis_schemas.ledger.costs import LOST_CLAIMS, MEAN_PAID, PAID, UNANSWERED, UNPRICED
from tamis_schemas.operations import operation_name

from ..evaluation.recall import LLM, NOT_ASKED

DECIDING = (Filter, Inclusion)  # the operations whose results pass or do not
PASSING = ("true", InclusionStatus.INCLUDE.value)  # as JSON text: a filter's yes, an inclusion's include
AS_TEXT = results.c.value.op("#>>")(literal_column("'{}'"))  # true, include, 0.7: a JSON scalar without quotes
QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


async def summarise(connection: AsyncConnection, batch_id: UUID) -> Summary:
    """The summary of a batch whose items are all terminal; reads only."""
    batch = (await connection.execute(select(batches).where(batches.c.id == batch_id))).one()
    decides = batch.operation in {operation_name(kind) for kind in DECIDING}
    countable = decides or batch.operation == operation_name(Judge)
    values = await _tally(connection, batch_id, AS_TEXT, results.c.error_kind.is_(None)) if countable else {}
    errors = await _tally(connection, batch_id, results.c.error_kind, _failed())
    models = await _tally(connection, batch_id, results.c.model, results.c.model.is_not(None))
    tiers = await _tally(connection, batch_id, results.c.tier, results.c.tier.is_not(None))
    kept_out = await _tally(connection, batch_id, exclusions.c.rule, exclusions.c.rule.is_not(None), table=exclusions)
    totals = await _totals(connection, batch_id)
    lost = (await connection.execute(select(LOST_CLAIMS).where(items.c.batch_id == batch_id))).scalar_one()
    counts = await _counts(connection, batch_id, batch.n_items)
    said = await _metrics(connection, batch_id)
    started_at = batch.started_at or batch.finished_at  # a batch may be cancelled before its first dispatch
    seconds = (batch.finished_at - started_at).total_seconds()
    return Summary(
        batch_id=str(batch_id),
        round=batch.round,
        operation=batch.operation,
        counts=counts,
        values=values,
        pass_rate=wilson(sum(values.get(value, 0) for value in PASSING), counts.decided if decides else 0),
        unverified=totals.unverified,
        errors={ErrorKind(kind): n for kind, n in errors.items()},
        exclusions=kept_out,
        confidence=await _confidence(connection, batch_id),
        evaluations=said,
        recall_escalations=await _escalations(connection, batch_id) if said else None,
        prompt_tokens=totals.prompt or 0,
        completion_tokens=totals.completion or 0,
        cached_tokens=totals.cached_input or 0,
        cache_write_tokens=totals.written or 0,
        reasoning_tokens=totals.reasoning or 0,
        cost=totals.cost,
        unpriced=totals.unpriced,
        unanswered=totals.unanswered,
        lost_claims=lost,
        possibly_unbilled_cost=possibly_unbilled_cost(totals.unanswered + lost, totals.mean_paid),
        calls=totals.calls or 0,
        cached=totals.cached or 0,
        cut=totals.cut,
        call_seconds_median=_seconds(totals.median),
        call_seconds_p95=_seconds(totals.p95),
        wall_seconds=seconds,
        models=models,
        tiers=tiers,
        finished_at=batch.finished_at,
    )


async def _counts(connection: AsyncConnection, batch_id: UUID, n_items: int) -> Counts:
    statement = (
        select(items.c.state, func.count().label("n")).where(items.c.batch_id == batch_id).group_by(items.c.state)
    )
    found = {row.state: row.n for row in await connection.execute(statement)}
    return Counts(n_items=n_items, **{status.value: found.get(status, 0) for status in ItemStatus})


async def _tally(
    connection: AsyncConnection, batch_id: UUID, column: Any, condition: Any, *, table: Table = results
) -> dict[str, int]:
    statement = (
        select(column.label("name"), func.count().label("n"))
        .where(table.c.batch_id == batch_id, condition)
        .group_by("name")
        .order_by("name")
    )
    return {str(row.name): row.n for row in await connection.execute(statement) if row.name is not None}


def _failed() -> ColumnElement[bool]:
    """Of a result: its item failed. One that was to be asked again, and was cancelled, keeps its last failure's row."""
    same = (items.c.batch_id == results.c.batch_id) & (items.c.idx == results.c.idx)
    return exists().where(same, items.c.state == ItemStatus.FAILED)


async def _totals(connection: AsyncConnection, batch_id: UUID) -> Any:
    latency = results.c.latency_ms
    unverified = results.c.detail.op("->>")("uncertain_reason") == UncertainReason.UNVERIFIED.value
    statement = select(
        func.sum(results.c.prompt_tokens).label("prompt"),
        func.sum(results.c.completion_tokens).label("completion"),
        func.sum(results.c.cached_tokens).label("cached_input"),
        func.sum(results.c.cache_write_tokens).label("written"),
        func.sum(results.c.reasoning_tokens).label("reasoning"),
        PAID.label("cost"),
        UNPRICED.label("unpriced"),
        UNANSWERED.label("unanswered"),
        MEAN_PAID.label("mean_paid"),
        func.sum(results.c.calls).label("calls"),
        func.count().filter(results.c.cached).label("cached"),
        func.count(results.c.cut).label("cut"),
        func.count().filter(results.c.error_kind.is_(None), unverified).label("unverified"),
        func.percentile_cont(0.5).within_group(latency).label("median"),
        func.percentile_cont(0.95).within_group(latency).label("p95"),
    ).where(results.c.batch_id == batch_id)
    return (await connection.execute(statement)).one()


async def _confidence(connection: AsyncConnection, batch_id: UUID) -> ConfidenceDistribution:
    confidence = results.c.confidence
    band = case(*((confidence >= least, name) for name, least in CONFIDENCE_BANDS))
    decided = results.c.error_kind.is_(None)
    bands = await _tally(connection, batch_id, band, decided)
    statement = select(
        func.avg(confidence).cast(Float),
        *(func.percentile_cont(q).within_group(confidence) for q in QUARTILES),
    ).where(results.c.batch_id == batch_id, decided)
    mean, low, lower, middle, upper, high = (await connection.execute(statement)).one()
    return ConfidenceDistribution(
        bands={name: bands.get(name, 0) for name, _ in CONFIDENCE_BANDS},
        mean=mean,
        minimum=low,
        lower_quartile=lower,
        median=middle,
        upper_quartile=upper,
        maximum=high,
    )


async def _metrics(connection: AsyncConnection, batch_id: UUID) -> dict[str, MetricFigures]:
    """Of each metric how many values there are, what they are, and why there are no more."""
    said = evaluations.c
    statement = (
        select(
            *(said.label, said.category, said.reason, func.count().label("n")),
            *(func.avg(said.score).cast(Float).label("mean"), func.min(said.score).label("minimum")),
        )
        .where(said.batch_id == batch_id)
        .group_by(said.label, said.category, said.reason)
        .order_by(said.label, func.count().desc(), said.category, said.reason)
    )
    found: dict[str, MetricFigures] = {}
    for row in await connection.execute(statement):
        one = found.get(row.label, MetricFigures(n=0))
        if row.reason is not None:
            changes: dict[str, Any] = {"without": one.without | {row.reason: row.n}}
        elif row.category is not None:
            changes = {"n": one.n + row.n, "categories": one.categories | {row.category: row.n}}
        else:
            changes = {"n": row.n, "mean": row.mean, "minimum": row.minimum}
        found[row.label] = one.model_copy(update=changes)
    return found


async def _escalations(connection: AsyncConnection, batch_id: UUID) -> Proportion:
    """Items whose recall a model was asked about, out of all with metrics."""
    said = evaluations.c
    asked = (said.label == LLM) & said.reason.is_distinct_from(NOT_ASKED)
    items_of = func.count(said.idx.distinct())
    statement = select(items_of.filter(asked).label("asked"), items_of.label("all")).where(said.batch_id == batch_id)
    row = (await connection.execute(statement)).one()
    return wilson(row.asked, row.all)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
