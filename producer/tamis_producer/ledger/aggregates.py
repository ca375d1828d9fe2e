"""Aggregates over the rows of a batch, for summaries and reports. Asynchronous callers run them by `run_sync`."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CompoundSelect,
    Connection,
    Select,
    Table,
    Text,
    Uuid,
    bindparam,
    cast,
    func,
    literal,
    select,
    union_all,
)

from tamis_schemas import Counts, ItemStatus, UncertainReason, possibly_unbilled_cost
from tamis_schemas.ledger import items, results, tallies

# The batch of the statements here, which are made once: making a statement takes longer than Postgres takes for it.
BATCH = bindparam("batch_id", type_=Uuid)
PAID = func.coalesce(func.sum(results.c.cost), 0)  # dollars, as far as prices are known
UNPRICED = func.count().filter(results.c.cost.is_(None), results.c.calls > 0)  # items without a known price

UNANSWERED = func.coalesce(func.sum(results.c.unanswered), 0)  # calls that were sent and not answered
LOST_CLAIMS = func.coalesce(func.sum(items.c.lost_claims), 0)  # claims whose worker died, from rows of `items`
# Mean dollars of the items that cost something; 0 if all answered calls were free. NULL: no item's cost is known.
MEAN_PAID = func.coalesce(
    func.avg(results.c.cost).filter(results.c.cost > 0),
    func.min(results.c.cost).filter(results.c.calls > results.c.unanswered),
)
# Mean dollars of the items without an error, from rows of `tallies`: the estimate for a further item. NULL: no price
# is known.
TALLIED_LIKELY_COST = func.sum(tallies.c.decided_cost) / func.nullif(func.sum(tallies.c.decided_priced), 0)


def read_counts(connection: Connection, batch_id: UUID, n_items: int) -> Counts:
    """Return the number of a batch's items in each state."""
    return counts_of(count_values(connection, batch_id, items.c.state, table=items), n_items)


def counts_of(count_of: Mapping[str, int], n_items: int) -> Counts:
    """Return the counts of a batch from the number of its items in each state."""
    return Counts(n_items=n_items, **{status.value: count_of.get(status, 0) for status in ItemStatus})


def count_values(
    connection: Connection, batch_id: UUID, column: Any, *where: Any, table: Table = results, most_first: bool = False
) -> dict[str, int]:
    """Return how often each value of a column occurs in a batch's rows, sorted by value; NULL is not counted.

    `most_first`: the most frequent value comes first.
    """
    counted = counting(column, *where, table=table)
    ordered = counted.order_by(*([counted.selected_columns.n.desc()] if most_first else []), "name")
    return {row.name: row.n for row in connection.execute(ordered, {"batch_id": batch_id})}


def counting(column: Any, *where: Any, table: Table = results) -> Select[str, int]:
    """Return a query for how often each value of a column occurs in a batch, without NULL.

    The query has the parameter `batch_id`, and the columns `name` (the value as text) and `n` (the number of rows).
    `table`: the table of the column.
    """
    rows = select(cast(column, Text).label("name"), func.count().label("n"))
    return rows.where(table.c.batch_id == BATCH, column.is_not(None), *where).group_by("name")


def all_counts(**queries: Select[str, int]) -> CompoundSelect[str, str, int]:
    """Return several `counting` queries as one query. The column `key` has the name of the row's query."""
    parts = [select(literal(key).label("key"), query.subquery()) for key, query in queries.items()]
    return union_all(*parts).order_by("key", "name")


_TOTALLED = ("prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens", "calls")
_TOTALS = select(
    *(func.coalesce(func.sum(results.c[name]), 0).label(name) for name in _TOTALLED),
    PAID.label("cost"),
    UNPRICED.label("unpriced"),
    UNANSWERED.label("unanswered"),
    MEAN_PAID.label("mean_paid"),
    select(LOST_CLAIMS).where(items.c.batch_id == BATCH).scalar_subquery().label("lost_claims"),
    func.count().filter(results.c.cached).label("cached"),
    func.count(results.c.cut).label("cut"),
    func.count()
    .filter(
        results.c.error_kind.is_(None),
        results.c.detail.op("->>")("uncertain_reason") == UncertainReason.UNVERIFIED.value,
    )
    .label("unverified"),
    func.percentile_cont(0.5).within_group(results.c.latency_ms).label("median"),
    func.percentile_cont(0.95).within_group(results.c.latency_ms).label("p95"),
).where(results.c.batch_id == BATCH)


def read_totals(connection: Connection, batch_id: UUID) -> dict[str, Any]:
    """Return the sums of a batch's calls, tokens, money and time, as fields of a `Summary`."""
    row = connection.execute(_TOTALS, {"batch_id": batch_id}).one()
    totals = {name: value for name, value in row._mapping.items() if name not in ("mean_paid", "median", "p95")}
    return totals | {
        "possibly_unbilled_cost": possibly_unbilled_cost(row.unanswered + row.lost_claims, row.mean_paid),
        "call_seconds_median": _seconds(row.median),
        "call_seconds_p95": _seconds(row.p95),
    }


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
