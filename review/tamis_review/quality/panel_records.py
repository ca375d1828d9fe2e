"""The words of a panel's models on each record of a batch."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from sqlalchemy import Connection, Float, Numeric, cast, func, select

from tamis_producer.ledger.outcomes import PANEL
from tamis_review.quality.panel_record import PanelRecord, panel_record
from tamis_schemas import ItemStatus
from tamis_schemas.ledger import items, results
from tamis_schemas.operations.panel import HALF

AT_ONCE = 1_000  # rows: with the verdicts of each model they are long


def read_panel_records(connection: Connection, batch_id: UUID) -> Iterator[PanelRecord]:
    """Every record of the batch with a panel's words, in their order; a failed one with the words of the others."""
    words = results.c.detail.op("->")(PANEL)
    there = (results.c.batch_id == items.c.batch_id) & (results.c.idx == items.c.idx)
    ended = items.c.state.in_([ItemStatus.DECIDED.value, ItemStatus.FAILED.value])
    statement = (
        select(items.c.idx, items.c.item_id, words.label("panel"))
        .join(results, there)
        .where(items.c.batch_id == batch_id, ended, words.is_not(None))
        .order_by(items.c.idx)
    )
    for row in connection.execute(statement.execution_options(yield_per=AT_ONCE)):
        yield panel_record(row.idx, row.item_id, row.panel)


def read_disputed(connection: Connection, batch_id: UUID) -> Sequence[int]:
    """The places of the records on which the models of a panel differ, where most pairs do first, then the doubtful."""
    words = results.c.detail.op("->")(PANEL)
    apart, score = (cast(words.op("->>")(name), Float) for name in ("disagreement", "score"))
    there = (results.c.batch_id == items.c.batch_id) & (results.c.idx == items.c.idx)
    ended = items.c.state.in_([ItemStatus.DECIDED.value, ItemStatus.FAILED.value])
    statement = (
        select(items.c.idx)
        .join(results, there)
        .where(items.c.batch_id == batch_id, ended, apart > 0)
        .order_by(apart.desc(), func.abs(func.round(cast(score - HALF, Numeric), 9)), items.c.idx)
    )
    return list(connection.execute(statement).scalars())
