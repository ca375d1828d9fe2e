"""Pairs of records that may be copies, and people's verdicts on them.

The database view `copy_pairs` lists the pairs that the deduplication could not decide and the pairs that people named.
Each pair has its last verdict. After the verdict `copies`, a trigger excludes one record as a duplicate in every stage
of the review. The record's state and result remain, so that a later verdict can bring the record back.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from pydantic import Field
from sqlalchemy import Connection, Uuid, column, insert, select, table, text

from tamis_producer.ledger.copies import stages_of
from tamis_producer.ledger.overrides import one_at_a_time, read_overrides, read_places
from tamis_schemas import InvalidParameters
from tamis_schemas.answers.override import CopyVerdict
from tamis_schemas.ledger import batches, copy_decisions, exclusions
from tamis_schemas.records.record_number import indexed_words, record_words
from tamis_schemas.values.frozen import Frozen

from .record_overrides import checked_words

_VIEW = table("copy_pairs", column("batch_id", Uuid))


class CopyPair(Frozen):
    """Two records of a review's first batch that may be copies, with people's last verdict."""

    index: int  # the record that leaves if the two are copies, from 0
    of: int  # the record that stays
    ids: tuple[str, ...] = Field(min_length=2, max_length=2)
    titles: tuple[str | None, ...] = Field(min_length=2, max_length=2)
    reason: str | None  # why the deduplication could not decide; None: a person named the pair
    verdict: CopyVerdict | None  # None: no verdict, or taken back
    reviewer: str | None  # person who gave the last verdict, or took it back
    decided_at: datetime | None
    moot: bool  # nothing to decide: one of the two was removed before screening for another reason

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the cells of a table row: the copy, the record that stays, the reason for the doubt, the verdict."""
        both = zip((self.index, self.of), self.ids, self.titles, strict=True)
        records = (f"{record_words(place, item_id)}: {title or 'no title'}" for place, item_id, title in both)
        by = "" if self.decided_at is None else f" ({self.reviewer}, {self.decided_at:%Y-%m-%d %H:%M %Z})"
        verdict = self.verdict or ("moot" if self.moot else "undecided")
        return *records, self.reason or "named by a person", verdict + by


def read_pairs(connection: Connection, batch_id: UUID) -> tuple[CopyPair, ...]:
    """Return the pairs of a batch, in the order of their first records. A later stage of a review has no pairs."""
    rows = connection.execute(select(text("*")).select_from(_VIEW).where(_VIEW.c.batch_id == batch_id))
    pairs = (CopyPair.model_validate(row._asdict()) for row in rows)
    return tuple(sorted(pairs, key=lambda pair: sorted((pair.index, pair.of))))


def record_verdict(
    connection: Connection, batch_id: UUID, index: int, of: int, verdict: CopyVerdict | None, reviewer: str
) -> CopyPair:
    """Record a verdict on a pair, in the caller's transaction. None takes the last verdict back.

    Raises `InvalidParameters` if the review's first batch has no such records, or if there is no verdict to take back.
    Also if one of the records was removed before screening, or if people decided on the copy.
    """
    stages = [row.id for row in connection.execute(stages_of(batch_id).order_by(batches.c.stage))]
    for stage in stages:
        one_at_a_time(connection, stage)
    if stages[0] != batch_id or len(read_places(connection, batch_id, {index, of})) < 2:
        raise InvalidParameters(f"copies: name two different records of the review's first batch, {stages[0]}")
    if verdict is None and not any(pair.verdict for pair in _of(connection, batch_id, index, of)):
        raise InvalidParameters("copies: there is no verdict on these two records to take back")
    new = {"idx": index, "copy_of": of, "verdict": verdict, "reviewer": checked_words(reviewer, None)[0]}
    connection.execute(insert(copy_decisions).values(batch_id=batch_id, **new))
    if verdict == "copies":
        _check_left(connection, stages, index, of)
    return _of(connection, batch_id, index, of)[0]


def _of(connection: Connection, batch_id: UUID, index: int, of: int) -> list[CopyPair]:
    return [pair for pair in read_pairs(connection, batch_id) if {pair.index, pair.of} == {index, of}]


def _check_left(connection: Connection, stages: Sequence[UUID], index: int, of: int) -> None:
    """Raise `InvalidParameters` if the record at `index` may not leave the screening as a copy of the other record."""
    removed = exclusions.c
    left = removed.copy_of.is_not_distinct_from(of)  # the record's rows, in each stage, and those of earlier copies
    before = (removed.batch_id == stages[0]) & ((removed.idx == of) | ((removed.idx == index) & ~left))
    for row in connection.execute(select(exclusions).where(before)):
        raise InvalidParameters(f"{indexed_words(row.idx)} was removed before screening: {row.exclusion['reason']}")
    rows = connection.execute(select(removed.batch_id, removed.idx).where(removed.batch_id.in_(stages), left)).all()
    names = {entry.reviewer for row in rows for entry in read_overrides(connection, row.batch_id, places=[row.idx])}
    if names:
        raise InvalidParameters(
            f"{indexed_words(index)} has a decision of {', '.join(sorted(names))}: withdraw it, or remove the other"
        )
