"""The decisions of a batch that a person may see at one moment. Only this module decides on visibility.

The functions in the top folder of the package check a `Visibility` before they show a batch. The engine's functions
that read whole batches check it too. Routes and commands call these functions.
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
    """Checks that raise `Blinded` if a person may not see a batch yet. The client uses them as its `Sight`."""

    person: str

    def check_whole(self, connection: Connection, batch_id: UUID) -> None:
        """Raise `Blinded` while a record of the batch, or of its review, is hidden from the person."""
        read_visibility(connection, batch_id, self.person).check_whole()

    def check_records(self, connection: Connection, batch_id: UUID) -> None:
        """Raise `Blinded` if the batch's list of records would show hidden decisions of an earlier stage.

        A later stage has only the records that the earlier stage passed.
        """
        read_visibility(connection, batch_id, self.person)


@dataclass(frozen=True)
class Visibility:
    """The parts of a batch that a person may see, at one moment."""

    batch_id: str
    mode: ScreeningMode
    me: str | None  # the name under which the person decides; None: a program, or a terminal without a person
    hidden: frozenset[int] = frozenset()  # indexes of records whose decisions the person must not see yet
    stages: "tuple[Visibility, ...]" = ()  # of the review's other stages
    sources: "tuple[Visibility, ...]" = ()  # of the batch whose decisions are examples in this batch's prompts

    @property
    def blind(self) -> bool:
        """Return whether the person reads blind: all records of the batch, or an audit's unjudged records."""
        return self.me is not None and (self.mode.blind or bool(self.hidden))

    @property
    def audits(self) -> bool:
        """Return whether the person may see audits. Hidden records hide the audits too.

        The mode `model_audited` is the exception: in this mode, audits show no decision of the model.
        """
        parts = (self, *self.stages, *self.sources)
        return not any(part.hidden and part.mode is not ScreeningMode.MODEL_AUDITED for part in parts)

    def check_whole(self) -> None:
        """Raise `Blinded` while any record of the review, or of the batch of prompt examples, is hidden.

        A caller checks this before an answer about the whole batch. The answer may contain a hash of the examples, and
        a reader could work out the hidden decisions from the hash.
        """
        for part in (self, *self.stages, *self.sources):
            if part.hidden:
                records = "1 record is" if len(part.hidden) == 1 else f"{len(part.hidden):,} records are"
                raise Blinded(f"{records} still read blind. {part._ends()}")

    def check_copies(self) -> None:
        """Raise `Blinded` while a record of a review with further stages is hidden.

        Tamis refuses to remove a copy that has decisions in a later stage. This refusal would show that the record
        passed.
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
        """Raise `Blinded` if people read blind and `reviewer` is not this person's own name."""
        if self.blind and reviewer is not None and reviewer.strip() != self.me:
            raise Blinded(f"people read blind: you decide as {self.me!r}, not as {reviewer!r}")

    def check_decision(self, index: int, stage: HumanStage, *, settles: bool) -> None:
        """Raise `Blinded` if the record is hidden, and the decision settles a conflict or is about the full text."""
        if settles or stage is not HumanStage.OWN:
            self.check_record(index)

    def overrides(self, decisions: Sequence[Override]) -> list[Override]:
        """Return the decisions that the person may see.

        On hidden records, these are the person's own decisions, without the software's decision beside them.
        """
        shown = (made for made in decisions if made.index not in self.hidden or made.reviewer == self.me)
        alone = {"system_decided": False, "system_value": None}
        return [made.model_copy(update=alone) if made.index in self.hidden else made for made in shown]

    def results(self, results: Sequence[ItemResult]) -> list[ItemResult]:
        """Return the results. Replace the result of each hidden item by a pending item without decisions."""

        def undecided(row: ItemResult) -> ItemResult:
            return ItemResult(index=row.index, item_id=row.item_id, status=ItemStatus.PENDING, item=row.item)

        return [undecided(row) if row.index in self.hidden else row for row in results]

    def _ends(self) -> str:
        return f"{_OPENS[self.mode]}, or all of them with `tamis blind {self.batch_id[:SHORT_ID]} off`"


def visible(connection: Connection, batch: Batch) -> Visibility:
    """Return what the person who uses the client may see of this batch.

    Raises `Blinded` if the batch's records would show decisions that are hidden in an earlier stage.
    """
    sight = batch.session.sight
    return read_visibility(connection, batch.uuid, None if sight is None else sight.person)


def read_visibility(connection: Connection, batch_id: UUID, person: str | None) -> Visibility:
    """Return what a person may see of a batch. `person`: None for a program, which may see everything.

    A later stage has only the records that passed an earlier stage. A judgement has the earlier stage's results. Raises
    `Blinded` if such a batch would show decisions that are hidden in the earlier stage.
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
    """Return whether the person may see only the state and the size of the batch.

    This is so if the batch's records would show decisions that are hidden in an earlier stage.
    """
    try:
        read_visibility(connection, batch_id, person)
    except Blinded:
        return True
    return False


def _of_batch(connection: Connection, batch_id: UUID, person: str) -> Visibility:
    hidden = hidden_from(connection, batch_id, person)
    return Visibility(str(batch_id), read_mode(connection, batch_id), person, frozenset(hidden))


def check_record(connection: Connection, batch: Batch, index: int) -> Visibility:
    """Return what the client's user may see of a batch, after a check of the record at `index`.

    Raises `Blinded` if the record is hidden in any stage of its review. Also if decisions are hidden that are examples
    in the batch's prompts.
    """
    seen = visible(connection, batch)
    seen.check_record(index)
    origin = select(payloads.c.origin).where(payloads.c.batch_id == batch.uuid, payloads.c.idx == index)
    record = func.coalesce(origin.scalar_subquery(), index)  # the record's index in the first stage
    place_in_first = func.coalesce(payloads.c.origin, payloads.c.idx)
    for stage in seen.stages:
        there = payloads.c.batch_id == UUID(stage.batch_id)
        for place in connection.execute(select(payloads.c.idx).where(there, place_in_first == record)).scalars():
            stage.check_record(place)
    for source in seen.sources:
        source.check_whole()
    return seen
