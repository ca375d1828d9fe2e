"""People's labels and notes on the records of a batch, which help people to find the records later."""

from collections import Counter
from collections.abc import Collection, Sequence

from sqlalchemy import insert, select

from tamis_producer import ledger
from tamis_producer.client.batch import Batch
from tamis_producer.ledger.overrides import one_at_a_time, read_places
from tamis_producer.ledger.remarks import standing_remarks
from tamis_schemas import InvalidParameters, RemarkKind
from tamis_schemas.ledger import remarks
from tamis_schemas.records.record_number import indexed_words

from .decisions.record_overrides import LONGEST_NOTE, checked_text, checked_words
from .decisions.visibility import visible

LONGEST_LABEL = 100  # characters


def remark(
    batch: Batch,
    indices: Collection[int],
    *,
    labels: Collection[str] = (),
    notes: Collection[str] = (),
    reviewer: str,
    remove: bool = False,
) -> int:
    """Add labels and notes to items, or remove them, in one transaction. Return the number added or removed.

    `indices`: the items' positions in the batch, from 0. `remove`: remove the labels and notes instead of adding them.
    Only `reviewer`'s own labels and notes can be removed from a record whose decisions are hidden.

    Raises:
        Blinded: the batch is read blind, and `reviewer` is another person.
        InvalidParameters: an unknown item, no reviewer, or a text that is empty, too long, or cannot be stored.
        LedgerUnavailable: the ledger does not answer.
    """
    name, _ = checked_words(reviewer, None)
    wanted = [(RemarkKind.LABEL, _checked(RemarkKind.LABEL, " ".join(text.split()), LONGEST_LABEL)) for text in labels]
    wanted += [(RemarkKind.NOTE, _checked(RemarkKind.NOTE, text, LONGEST_NOTE)) for text in notes]
    with batch.session.writing() as connection:
        one_at_a_time(connection, batch.uuid)
        seen = visible(connection, batch)
        seen.check_name(name)
        there = read_places(connection, batch.uuid, indices)
        for index in indices:
            if index not in there:
                raise InvalidParameters(f"the batch has no record {indexed_words(index)}: `tamis results` lists them")
        shown = remarks.c.idx.not_in(seen.hidden.intersection(indices)) | (remarks.c.reviewer == name)
        cols = standing_remarks(batch.uuid, remarks.c.idx.in_(indices), shown).c
        stands = {(row.idx, row.kind, row.text) for row in connection.execute(select(cols.idx, cols.kind, cols.text))}
        rows = [
            {"batch_id": batch.uuid, "idx": index, "kind": kind, "text": text, "removes": remove, "reviewer": name}
            for index in sorted(set(indices))
            for kind, text in wanted
            if ((index, kind, text) in stands) is remove
        ]
        if rows:
            connection.execute(insert(remarks), rows)
    return len(rows)


def count_labels(batch: Batch) -> Counter[str]:
    """Return how many items have each label. May raise `LedgerUnavailable`.

    If a record's decisions are hidden from the client's user, other people's labels on the record do not count.
    """
    with batch.session.snapshot() as connection:
        seen = visible(connection, batch)
        return ledger.read_label_counts(connection, batch.uuid, me=seen.me or "", hidden=seen.hidden)


def labelled_places(batch: Batch, label: str) -> Sequence[int]:
    """Return the positions in the batch, from 0, of the items with a label. `Batch.results` accepts these positions.

    Raises `LedgerUnavailable`, and `Blinded` if a decision is hidden from the client's user.
    """
    with batch.session.snapshot() as connection:
        visible(connection, batch).check_whole()
        return ledger.read_labelled(connection, batch.uuid, label)


def _checked(kind: RemarkKind, text: str, most: int) -> str:
    """Return the text in its stored form. Raise `InvalidParameters` if the text is empty or cannot be stored."""
    kept = checked_text(kind.value, text, most)
    if kept is None:
        raise InvalidParameters(f"the {kind.value} is empty")
    return kept
