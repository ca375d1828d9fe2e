"""The decisions that a key's holder may see while people read blind, and the name under which the holder may decide."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, func, select

from tamis_producer.client.client import Client
from tamis_producer.gateway.access import Of, Reader
from tamis_producer.gateway.api_keys import ApiKey
from tamis_producer.gateway.description import BatchId, Index
from tamis_schemas import Blinded, HumanStage, Override, ScreeningMode, StopAnswer
from tamis_schemas.batches.wire import SHORT_ID
from tamis_schemas.ledger import batches, payloads
from tamis_schemas.records.record_number import indexed_words

from ..decisions.blindness import hidden_from, read_mode

_OPENS = {
    ScreeningMode.PAIR: "A record opens once two people have decided on it",
    ScreeningMode.MODEL_SECOND: "A record opens once you have decided on it yourself",
    ScreeningMode.MODEL_AUDITED: "A record of the audit sample opens once it is judged in Work",
}


@dataclass(frozen=True)
class Visibility:
    """The parts of a batch that a reviewer may see, at one moment."""

    batch_id: str
    mode: ScreeningMode
    me: str  # the label of the key
    hidden: frozenset[int]  # places of records whose decisions the reviewer must not see yet

    @property
    def blind(self) -> bool:
        """Return whether people read blind, either all records or an audit's unjudged records."""
        return self.mode.blind or bool(self.hidden)

    def check_whole(self) -> None:
        """Raise `Blinded` while a record is hidden, because the answer covers all records."""
        if self.hidden:
            records = "1 record is" if len(self.hidden) == 1 else f"{len(self.hidden):,} records are"
            raise Blinded(f"{records} still read blind. {self._ends()}")

    def check_record(self, index: int) -> None:
        """Raise `Blinded` if this record is hidden."""
        if index in self.hidden:
            raise Blinded(f"{indexed_words(index)} is still read blind. {self._ends()}")

    def check_name(self, reviewer: str | None) -> None:
        """Raise `Blinded` if people read blind and `reviewer` is another person, whose decisions may be hidden."""
        if self.blind and reviewer is not None and reviewer.strip() != self.me:
            raise Blinded(f"people read blind: this key decides as {self.me!r}, not as {reviewer!r}")

    def check_decision(self, index: int, stage: HumanStage, *, settles: bool) -> None:
        """Raise `Blinded` for a decision on a hidden record if it settles a conflict or is about the report."""
        if settles or stage is not HumanStage.OWN:
            self.check_record(index)

    def overrides(self, decisions: Sequence[Override]) -> list[Override]:
        """Return the visible decisions. The reviewer's own decisions on hidden records lack the software's decision."""
        return [self.own(made) for made in decisions if made.index not in self.hidden or made.reviewer == self.me]

    def own(self, one: Override) -> Override:
        """Return this reviewer's decision, without the software's decision if the record is hidden."""
        if one.index not in self.hidden:
            return one
        return one.model_copy(update={"system_decided": False, "system_value": None})

    def stop(self, answer: StopAnswer) -> StopAnswer:
        """Return the stop rule's answer, without the decisions on hidden records in its samples."""
        samples = []
        for sample in answer.samples:
            records = tuple(
                record.model_copy(update={"included": None}) if record.index in self.hidden else record
                for record in sample.records
            )
            samples.append(sample.model_copy(update={"records": records}))
        return answer.model_copy(update={"samples": tuple(samples)})

    def _ends(self) -> str:
        return f"{_OPENS[self.mode]}, or all of them with `tamis blind {self.batch_id[:SHORT_ID]} off`"


def visibility_of(client: Client, batch_id: str, key: ApiKey) -> Visibility:
    """Return what the holder of a key may see of a batch. Raise `UnknownBatch`, `LedgerUnavailable`."""
    uuid = client.batch(batch_id).uuid
    with client.snapshot() as connection:
        hidden = hidden_from(connection, uuid, key.label)
        return Visibility(str(uuid), read_mode(connection, uuid), key.label, frozenset(hidden))


def check_batch_open(batch_id: str, client: Client, key: ApiKey) -> None:
    """Raise `Blinded` while a record of the batch, or of another stage of its review, is hidden from the caller."""
    for stage in _stages(client, batch_id):
        visibility_of(client, str(stage), key).check_whole()


def check_audit_open(batch_id: BatchId, client: Of, key: Reader) -> None:
    """Raise `Blinded` like `check_batch_open`, but ignore stages in the mode `model_audited`.

    In this mode, audits show no decision of the model.
    """
    for stage in _stages(client, batch_id):
        visibility = visibility_of(client, str(stage), key)
        if visibility.mode is not ScreeningMode.MODEL_AUDITED:
            visibility.check_whole()


def check_record_open(batch_id: BatchId, index: Index, client: Of, key: Reader) -> None:
    """Raise `Blinded` (403) while a record is hidden from the caller, in any stage of its review."""
    uuid = client.batch(batch_id).uuid
    for stage in _stages(client, batch_id):
        visibility = visibility_of(client, str(stage), key)
        if visibility.hidden:
            with client.snapshot() as connection:
                place = index if stage == uuid else _place_in(connection, stage, uuid, index)
            if place is not None:
                visibility.check_record(place)


def _stages(client: Client, batch_id: str) -> list[UUID]:
    """Return the batch and the other stages of its review."""
    uuid = client.batch(batch_id).uuid
    review = select(batches.c.review_id).where(batches.c.id == uuid).scalar_subquery()
    others = select(batches.c.id).where(batches.c.review_id == review, batches.c.id != uuid)
    with client.snapshot() as connection:
        return [uuid, *connection.execute(others).scalars()]


def _place_in(connection: Connection, stage: UUID, batch_id: UUID, index: int) -> int | None:
    """Return the place in `stage` of the record at the place `index` of the batch, or None if it is not there."""
    origin = select(payloads.c.origin).where(payloads.c.batch_id == batch_id, payloads.c.idx == index)
    record = func.coalesce(origin.scalar_subquery(), index)  # place in the first stage
    place_in_first = func.coalesce(payloads.c.origin, payloads.c.idx)
    statement = select(payloads.c.idx).where(payloads.c.batch_id == stage, place_in_first == record)
    place: int | None = connection.execute(statement).scalar()
    return place
