"""A record of the work list: the report's row, without what whoever asks must not see yet."""

from datetime import datetime
from typing import Any

from tamis_schemas import HumanStage, ItemResult, ItemStatus, Override, Remark, RemarkKind
from tamis_schemas.values.frozen import Frozen

from .record import Row, record_row

SHOWN_OF_HIDDEN = ("i", "id", "title", "by", "doi", "pmid", "fields")


class MyDecision(Frozen):
    """What whoever asks decided about a record."""

    value: Any  # as the operation gives it
    reason: str | None
    note: str | None
    settles: bool = False  # it counts, whatever others say
    at: datetime


class WorkRecord(Frozen):
    """A record to read."""

    number: int  # from 1
    index: int  # place in the batch, from 0
    hidden: bool  # what was decided about it stays hidden until whoever asks has decided
    mine: MyDecision | None
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    row: dict[str, Any]  # as the table of decisions shows it


def work_record(operation: str, result: ItemResult, me: str, *, hidden: bool) -> WorkRecord:
    """Return a record as `me` sees it. Of a hidden one: its text, and what they wrote themselves."""
    own = next((one for one in result.decisions if one.reviewer == me and one.stage is HumanStage.OWN), None)
    remarks = [one for one in result.remarks if not hidden or one.reviewer == me]
    return WorkRecord(
        number=result.index + 1,
        index=result.index,
        hidden=hidden,
        mine=None if own is None else _mine(own),
        labels=tuple(one.text for one in remarks if one.kind is RemarkKind.LABEL),
        notes=tuple(_noted(one) for one in remarks if one.kind is RemarkKind.NOTE),
        row=_bare(operation, result) if hidden else record_row(operation, result),
    )


def _mine(own: Override) -> MyDecision:
    return MyDecision(value=own.value, reason=own.reason, note=own.note, settles=own.settles, at=own.created_at)


def _noted(one: Remark) -> str:
    return f"{one.reviewer}: {one.text}"


def _bare(operation: str, result: ItemResult) -> Row:
    """Return what the record itself says: the places that a model quoted are left out, too."""
    unread = ItemResult(index=result.index, item_id=result.item_id, status=ItemStatus.PENDING, item=result.item)
    return {name: value for name, value in record_row(operation, unread).items() if name in SHOWN_OF_HIDDEN}
