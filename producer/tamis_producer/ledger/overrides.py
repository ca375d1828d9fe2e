"""Human decisions in the ledger: a history that is added to; the last row of an item counts."""

from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, Select, Subquery, func, null, select

from tamis_schemas import ItemStatus, Operation, Override, UnknownBatch, parse_operation
from tamis_schemas.ledger import batches, items, overrides, results
from tamis_schemas.operations import kind_of


def standing(batch_id: UUID, *of: ColumnElement[bool]) -> Subquery:
    """A row for each item on which a human's decision stands: `overrides` without earlier and withdrawn ones.

    `of`: conditions on which items, told of the columns of `overrides`; none: all.
    """
    latest = select(func.max(overrides.c.id)).where(overrides.c.batch_id == batch_id, *of).group_by(overrides.c.idx)
    return select(overrides).where(overrides.c.id.in_(latest), overrides.c.value.is_not(null())).subquery("standing")


def read_overrides(
    connection: Connection, batch_id: UUID, *, history: bool = False, index: int | None = None
) -> list[Override]:
    """The decisions that stand, in the order of the items; with `history` every one ever made, the first one first.

    `index`: those of one item alone.
    """
    chosen = select(overrides).subquery("chosen") if history else standing(batch_id)
    statement = _with_item(chosen).where(chosen.c.batch_id == batch_id)
    if index is not None:
        statement = statement.where(chosen.c.idx == index)
    order = (chosen.c.id,) if history else (chosen.c.idx,)
    return [
        override_of(batch_id, row, withdrawn=row.withdrawn) for row in connection.execute(statement.order_by(*order))
    ]


def _with_item(chosen: Any) -> Select[Any]:
    return (
        select(
            *(chosen.c.idx, chosen.c.note, chosen.c.reviewer, chosen.c.created_at.label("said_at")),
            chosen.c.value.label("human"),
            chosen.c.value.is_(null()).label("withdrawn"),
            *(items.c.item_id, items.c.state, results.c.value, batches.c.operation),
        )
        .join(items, (items.c.batch_id == chosen.c.batch_id) & (items.c.idx == chosen.c.idx))
        .join(batches, batches.c.id == items.c.batch_id)
        .outerjoin(results, (results.c.batch_id == items.c.batch_id) & (results.c.idx == items.c.idx))
    )


def override_of(batch_id: UUID, row: Row[Any], *, withdrawn: bool = False) -> Override:
    """The override of a row: `human`, `note`, `reviewer` and `said_at` beside the item's own columns."""
    decided, kind = row.state == ItemStatus.DECIDED, kind_of(row.operation)
    kept_out = row.state == ItemStatus.EXCLUDED_BY_FILTER and kind.decides()
    return Override(
        batch_id=str(batch_id),
        index=row.idx,
        item_id=row.item_id,
        value=row.human,
        withdrawn=withdrawn,
        note=row.note,
        reviewer=row.reviewer,
        created_at=row.said_at,
        system_decided=decided or kept_out,
        system_value=row.value if decided else kind.excludes if kept_out else None,
    )


def read_operation(connection: Connection, batch_id: UUID) -> Operation:
    """Return the operation that a batch's items are put to."""
    return parse_operation(connection.execute(select(batches.c.params).where(batches.c.id == batch_id)).scalar_one())


def one_at_a_time(connection: Connection, batch_id: UUID) -> None:
    """Wait for whoever is writing human decisions of this batch; held to the end of the transaction.

    A lock on the rows would make workers wait, who claim them. Raises `UnknownBatch` where the batch is being purged.
    """
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"human decisions {batch_id}"))))
    purging = select(batches.c.id).where(batches.c.id == batch_id, batches.c.purging_at.is_not(None))
    if connection.execute(purging).first() is not None:
        raise UnknownBatch(f"batch {batch_id} is being purged: nothing is kept of it")
