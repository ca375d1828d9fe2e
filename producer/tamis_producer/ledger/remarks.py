"""Labels and notes on records in the ledger: their history, and the labels and notes that a record has now."""

from collections import Counter
from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Connection, Integer, Subquery, all_, func, literal, select
from sqlalchemy.dialects.postgresql import aggregate_order_by

from tamis_schemas import RemarkKind
from tamis_schemas.ledger import remarks


def standing_remarks(batch_id: UUID, *of: ColumnElement[bool]) -> Subquery:
    """Return a subquery with a row for each label or note that an item has now.

    The last row of each text counts. If that row removes the text, the item no longer has it. `of`: conditions on
    columns of `remarks`. Without conditions, the subquery has all items.
    """
    latest = (
        select(func.max(remarks.c.id))
        .where(remarks.c.batch_id == batch_id, *of)
        .group_by(remarks.c.idx, remarks.c.kind, remarks.c.text)
    )
    return select(remarks).where(remarks.c.id.in_(latest), ~remarks.c.removes).subquery("standing_remarks")


def listed_remarks(batch_id: UUID, *of: ColumnElement[bool]) -> Subquery:
    """Return a subquery with a row for each item with labels or notes.

    The columns are `idx`, and `remarks`: the labels and notes as a JSON array, oldest first.
    """
    texts = standing_remarks(batch_id, *of).c
    fields = ("kind", "text", "reviewer", "created_at")
    document = func.json_build_object(*(part for name in fields for part in (name, texts[name])))
    listed = func.json_agg(aggregate_order_by(document, texts.id)).label("remarks")
    return select(texts.idx, listed).group_by(texts.idx).subquery("listed_remarks")


def read_labelled(connection: Connection, batch_id: UUID, label: str) -> Sequence[int]:
    """Return the places of the items with a label, in ascending order."""
    named = (remarks.c.kind == RemarkKind.LABEL.value, remarks.c.text == label)
    return connection.execute(select(place := standing_remarks(batch_id, *named).c.idx).order_by(place)).scalars().all()


def read_label_counts(
    connection: Connection, batch_id: UUID, *, me: str = "", hidden: Collection[int] = ()
) -> Counter[str]:
    """Return the number of items with each label. At the places `hidden`, only labels by the reviewer `me` count."""
    shown = remarks.c.idx != all_(literal(sorted(hidden), ARRAY(Integer)))
    labels = (remarks.c.kind == RemarkKind.LABEL.value, shown | (remarks.c.reviewer == me))
    texts = standing_remarks(batch_id, *labels).c
    rows = connection.execute(select(texts.text, func.count().label("n")).group_by(texts.text).order_by(texts.text))
    return Counter({row.text: row.n for row in rows})
