"""Labels and notes on records in the ledger: a history that is added to, and what stands of it."""

from collections import Counter
from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Connection, Integer, Subquery, all_, func, literal, select
from sqlalchemy.dialects.postgresql import aggregate_order_by

from tamis_schemas import RemarkKind
from tamis_schemas.ledger import remarks


def standing_remarks(batch_id: UUID, *of: ColumnElement[bool]) -> Subquery:
    """A row for each text that stands on an item: the last row of it, unless that takes it off.

    `of`: conditions on which rows, told of the columns of `remarks`; none: all.
    """
    latest = (
        select(func.max(remarks.c.id))
        .where(remarks.c.batch_id == batch_id, *of)
        .group_by(remarks.c.idx, remarks.c.kind, remarks.c.text)
    )
    return select(remarks).where(remarks.c.id.in_(latest), ~remarks.c.removes).subquery("standing_remarks")


def listed_remarks(batch_id: UUID, *of: ColumnElement[bool]) -> Subquery:
    """A row for each item with remarks: `idx`, and `remarks` as a JSON array, the oldest first."""
    one = standing_remarks(batch_id, *of).c
    fields = ("kind", "text", "reviewer", "created_at")
    document = func.json_build_object(*(part for name in fields for part in (name, one[name])))
    listed = func.json_agg(aggregate_order_by(document, one.id)).label("remarks")
    return select(one.idx, listed).group_by(one.idx).subquery("listed_remarks")


def read_labelled(connection: Connection, batch_id: UUID, label: str) -> Sequence[int]:
    """Return the places of the items that bear a label, in ascending order."""
    named = (remarks.c.kind == RemarkKind.LABEL.value, remarks.c.text == label)
    return connection.execute(select(place := standing_remarks(batch_id, *named).c.idx).order_by(place)).scalars().all()


def read_label_counts(
    connection: Connection, batch_id: UUID, *, me: str = "", hidden: Collection[int] = ()
) -> Counter[str]:
    """Return how many items bear each label; of the items at the places `hidden`, those that `me` has put on alone."""
    shown = remarks.c.idx != all_(literal(sorted(hidden), ARRAY(Integer)))
    labels = (remarks.c.kind == RemarkKind.LABEL.value, shown | (remarks.c.reviewer == me))
    one = standing_remarks(batch_id, *labels).c
    rows = connection.execute(select(one.text, func.count().label("n")).group_by(one.text).order_by(one.text))
    return Counter({row.text: row.n for row in rows})
