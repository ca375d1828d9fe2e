"""Labels and notes, written on records: all of a call or none of it."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, insert, select

from tamis_producer.ledger.overrides import one_at_a_time, read_places
from tamis_producer.ledger.remarks import standing_remarks
from tamis_schemas import InvalidParameters, RemarkKind
from tamis_schemas.ledger import remarks
from tamis_schemas.records.record_number import indexed_words

from .record_overrides import LONGEST_NOTE, checked_text, checked_words

LONGEST_LABEL = 100  # characters


@dataclass(frozen=True)
class NewRemark:
    """A label or note to be put on a record, or to be taken off it."""

    kind: RemarkKind
    text: str
    removes: bool = False


def remark(
    connection: Connection,
    batch_id: UUID,
    indices: Collection[int],
    new: Collection[NewRemark],
    *,
    reviewer: str,
    alone: bool = False,
) -> int:
    """Put labels and notes on items, or take them off; return how many were not so already.

    Runs in the caller's transaction. `alone`: what others have put there does not count, as where people read blind.

    Raises `InvalidParameters`: no reviewer, an item that is not there, or a text that is empty, too long, or cannot be
    kept.
    """
    name, _ = checked_words(reviewer, None)
    wanted = [(one.kind, _text(one), one.removes) for one in new]
    one_at_a_time(connection, batch_id)
    there = read_places(connection, batch_id, indices)
    for index in indices:
        if index not in there:
            raise InvalidParameters(f"the batch has no record {indexed_words(index)}: `tamis results` lists them")
    of = (remarks.c.idx.in_(indices), remarks.c.reviewer == name)
    one = standing_remarks(batch_id, *of[: 2 if alone else 1]).c
    stands = {(row.idx, row.kind, row.text) for row in connection.execute(select(one.idx, one.kind, one.text))}
    rows = [
        {"batch_id": batch_id, "idx": index, "kind": kind, "text": text, "removes": removes, "reviewer": name}
        for index in sorted(set(indices))
        for kind, text, removes in wanted
        if ((index, kind, text) in stands) is removes
    ]
    if rows:
        connection.execute(insert(remarks), rows)
    return len(rows)


def _text(one: NewRemark) -> str:
    if one.kind is RemarkKind.LABEL:  # on one line, so that the same words are the same label
        kept = checked_text("label", " ".join(one.text.split()), LONGEST_LABEL)
    else:
        kept = checked_text("note", one.text, LONGEST_NOTE)
    if kept is None:
        raise InvalidParameters(f"the {one.kind.value} is empty")
    return kept
