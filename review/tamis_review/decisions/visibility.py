"""The decisions that a person may see of a batch at one moment: the only place that decides on visibility.

The functions in the top folder of the package, and the engine's functions that read whole batches, read a batch with
this value. Routes and commands call these functions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import Connection, Text, cast, func, or_, select

from tamis_producer.client.batch import Batch
from tamis_schemas import Blinded, HumanStage, ItemResult, ItemStatus, Override, ScreeningMode
from tamis_schemas.batches.wire import SHORT_ID
from tamis_schemas.ledger import batches, payloads
from tamis_schemas.records.record_number import indexed_words

from .blindness import hidden_from, read_mode
from .final_outcome import JUDGE

_OPENS = {
    ScreeningMode.PAIR: "A record opens once two people have decided on it",
    ScreeningMode.MODEL_SECOND: "A record opens once you have decided on it yourself",
    ScreeningMode.MODEL_AUDITED: "A record of the audit sample opens once it is judged in Work",
}


@dataclass(frozen=True)
class PersonalSight:
    """The rule for what a person may see: see `tamis_producer.client.session.Sight`."""

    person: str

    def check_whole(self, connection: Connection, batch_id: UUID) -> None:
        """Raise `Blinded` while a record of the batch, or of its review, is hidden from the person."""
        read_visibility(connection, batch_id, self.person).check_whole()

    def check_records(self, connection: Connection, batch_id: UUID) -> None:
        """Raise `Blinded` if an earlier stage, whose decisions chose the batch's records, is read blind."""
        read_visibility(connection, batch_id, self.person)


@dataclass(frozen=True)
class Visibility:
    """The parts of a batch that a person may see, at one moment."""

    batch_id: str
    mode: ScreeningMode
    me: str | None  # the name under which the person decides; None: a program, or a terminal without a person
    hidden: frozenset[int] = frozenset()  # places of records whose decisions the person must not see yet
    stages: "tuple[Visibility, ...]" = ()  # of the review's other stages
    sources: "tuple[Visibility, ...]" = ()  # of the batch whose decisions are examples in this batch's prompts

    @property
    def blind(self) -> bool:
        """Return whether people read blind, either all records or an audit's unjudged records."""
        return self.me is not None and (self.mode.blind or bool(self.hidden))

    @property
    def audits(self) -> bool:
        """Return whether the person may see audits: in the mode `model_audited`, they show no decision of the model."""
        parts = (self, *self.stages, *self.sources)
        return not any(part.hidden and part.mode is not ScreeningMode.MODEL_AUDITED for part in parts)

    def check_whole(self) -> None:
        """Raise `Blinded` while a record is hidden in any stage, because the answer covers all records.

        The answer may also have a hash of the examples, and a reader could work them out from it.
        """
        for part in (self, *self.stages, *self.sources):
            if part.hidden:
                records = "1 record is" if len(part.hidden) == 1 else f"{len(part.hidden):,} records are"
                raise Blinded(f"{records} still read blind. {part._ends()}")

    def check_copies(self) -> None:
        """Raise `Blinded` while a record of a review with further stages is hidden.

        A copy with decisions in a later stage is refused, so the refusal would show that the record passed.
        """
        if self.stages:
            self.check_whole()

    def check_audits(self) -> None:
        """Raise `Blinded` if the person may not see audits."""
        if not self.audits:
            self.check_whole()

    def check_record(self, index: int) -> None:
        """Raise `Blinded` if this record is hidden in this batch."""
        if index in self.hidden:
            raise Blinded(f"{indexed_words(index)} is still read blind. {self._ends()}")

    def check_name(self, reviewer: str | None) -> None:
        """Raise `Blinded` if people read blind and `reviewer` is another person, whose decisions may be hidden."""
        if self.blind and reviewer is not None and reviewer.strip() != self.me:
            raise Blinded(f"people read blind: you decide as {self.me!r}, not as {reviewer!r}")

    def check_decision(self, index: int, stage: HumanStage, *, settles: bool) -> None:
        """Raise `Blinded` for a decision on a hidden record if it settles a conflict or is about the report."""
        if settles or stage is not HumanStage.OWN:
            self.check_record(index)

    def overrides(self, decisions: Sequence[Override]) -> list[Override]:
        """Return the visible decisions. The person's own decisions on hidden records lack the software's decision."""
        shown = (made for made in decisions if made.index not in self.hidden or made.reviewer == self.me)
        alone = {"system_decided": False, "system_value": None}
        return [made.model_copy(update=alone) if made.index in self.hidden else made for made in shown]

    def results(self, results: Sequence[ItemResult]) -> list[ItemResult]:
        """Return the results. Hidden items have no result, as if nobody had decided."""

        def undecided(row: ItemResult) -> ItemResult:
            return ItemResult(index=row.index, item_id=row.item_id, status=ItemStatus.PENDING, item=row.item)

        return [undecided(row) if row.index in self.hidden else row for row in results]

    def _ends(self) -> str:
        return f"{_OPENS[self.mode]}, or all of them with `tamis blind {self.batch_id[:SHORT_ID]} off`"


def visible(connection: Connection, batch: Batch) -> Visibility:
    """Return what the person who uses this batch may see of it. Raise the errors of `read_visibility`."""
    sight = batch.session.sight
    return read_visibility(connection, batch.uuid, None if sight is None else sight.person)


def read_visibility(connection: Connection, batch_id: UUID, person: str | None) -> Visibility:
    """Return what a person may see of a batch. `person`: None for a program, which may see everything.

    A later stage has only the records that passed, and a judgement has their results. So raise `Blinded` if such a
    batch would show decisions that are hidden in an earlier stage.
    """
    if person is None:
        return Visibility(str(batch_id), read_mode(connection, batch_id), None)
    mine = batches.alias("mine")
    examples = cast(batches.c.id, Text) == mine.c.params.op("->>")("examples_from")
    together = batches.c.review_id == mine.c.review_id
    earlier = together & (batches.c.stage < mine.c.stage)
    related = (
        select(batches.c.id, examples.label("examples"), earlier.label("earlier"), mine.c.operation)
        .join(mine, or_(together, examples))
        .where(mine.c.id == batch_id, batches.c.id != batch_id)
    )
    stages, sources = list[Visibility](), list[Visibility]()
    for row in connection.execute(related):
        part = _of_batch(connection, row.id, person)
        (sources if row.examples else stages).append(part)
        if row.earlier and (part.mode.blind or row.operation == JUDGE):
            part.check_whole()
    return replace(_of_batch(connection, batch_id, person), stages=tuple(stages), sources=tuple(sources))


def is_closed(connection: Connection, batch_id: UUID, person: str) -> bool:
    """Return whether the batch shows the person only its state and size, as in `read_visibility`."""
    try:
        read_visibility(connection, batch_id, person)
    except Blinded:
        return True
    return False


def _of_batch(connection: Connection, batch_id: UUID, person: str) -> Visibility:
    hidden = hidden_from(connection, batch_id, person)
    return Visibility(str(batch_id), read_mode(connection, batch_id), person, frozenset(hidden))


def check_record(connection: Connection, batch: Batch, index: int) -> Visibility:
    """Return what the batch's person may see of it.

    Raises `Blinded` if the record is hidden in any stage of its review, or if examples in its prompts are hidden.
    """
    seen = visible(connection, batch)
    seen.check_record(index)
    origin = select(payloads.c.origin).where(payloads.c.batch_id == batch.uuid, payloads.c.idx == index)
    record = func.coalesce(origin.scalar_subquery(), index)  # place in the first stage
    place_in_first = func.coalesce(payloads.c.origin, payloads.c.idx)
    for stage in seen.stages:
        there = payloads.c.batch_id == UUID(stage.batch_id)
        for place in connection.execute(select(payloads.c.idx).where(there, place_in_first == record)).scalars():
            stage.check_record(place)
    for source in seen.sources:
        source.check_whole()
    return seen
