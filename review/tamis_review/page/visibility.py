"""What the holder of a key may see of a batch while people read it blind, and in whose name they may decide."""

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
    ScreeningMode.MODEL_AUDITED: "A record that was drawn for the audit opens once it is judged, in Work",
}


@dataclass(frozen=True)
class Visibility:
    """One reviewer's visibility of a batch, as the ledger was a moment ago."""

    batch_id: str
    mode: ScreeningMode
    me: str  # the label of the key
    hidden: frozenset[int]  # places of records whose decisions this reviewer must not see yet

    @property
    def blind(self) -> bool:
        """True where people read blind: all records, or those of an audit that are not judged yet."""
        return self.mode.blind or bool(self.hidden)

    def check_whole(self) -> None:
        """Raise `Blinded` while a record is hidden: of what is told of all of them at once."""
        if self.hidden:
            records = "1 record is" if len(self.hidden) == 1 else f"{len(self.hidden):,} records are"
            raise Blinded(f"{records} still read blind. {self._ends()}")

    def check_record(self, index: int) -> None:
        """Raise `Blinded` where this record is hidden."""
        if index in self.hidden:
            raise Blinded(f"{indexed_words(index)} is still read blind. {self._ends()}")

    def check_name(self, reviewer: str | None) -> None:
        """Raise `Blinded` where somebody decides in another's name, and thereby ends what is hidden from them."""
        if self.blind and reviewer is not None and reviewer.strip() != self.me:
            raise Blinded(f"people read blind: this key decides as {self.me!r}, and not as {reviewer!r}")

    def check_decision(self, index: int, stage: HumanStage, *, settles: bool) -> None:
        """Raise `Blinded` where a decision takes for granted what is hidden: one that settles, one on a report."""
        if settles or stage is not HumanStage.OWN:
            self.check_record(index)

    def overrides(self, decisions: Sequence[Override]) -> list[Override]:
        """Return those that may be seen; one's own on a hidden record, without the software's word beside it."""
        shown = (one for one in decisions if one.index not in self.hidden or one.reviewer == self.me)
        return [self.own(one) for one in shown]

    def own(self, one: Override) -> Override:
        """Return a decision of this reviewer, without the software's word where the record is hidden."""
        if one.index not in self.hidden:
            return one
        return one.model_copy(update={"system_decided": False, "system_value": None})

    def stop(self, answer: StopAnswer) -> StopAnswer:
        """Return the answer of the stop rule, without what was decided on hidden records of its samples."""
        samples = []
        for sample in answer.samples:
            records = tuple(
                one.model_copy(update={"included": None}) if one.index in self.hidden else one for one in sample.records
            )
            samples.append(sample.model_copy(update={"records": records}))
        return answer.model_copy(update={"samples": tuple(samples)})

    def _ends(self) -> str:
        return f"{_OPENS[self.mode]}, or all of them with `tamis blind {self.batch_id[:SHORT_ID]} off`"


def visibility_of(client: Client, batch_id: str, key: ApiKey) -> Visibility:
    """The visibility of the holder of a key. Raises `UnknownBatch`, `LedgerUnavailable`."""
    found = client.batch(batch_id).uuid
    with client.snapshot() as connection:
        hidden = hidden_from(connection, found, key.label)
        return Visibility(str(found), read_mode(connection, found), key.label, frozenset(hidden))


def check_batch_open(batch_id: str, client: Client, key: ApiKey) -> None:
    """Raise `Blinded` while a record of the batch, or of another stage of its review, is hidden from the caller."""
    for stage in _stages(client, batch_id):
        visibility_of(client, str(stage), key).check_whole()


def check_audit_open(batch_id: BatchId, client: Of, key: Reader) -> None:
    """A dependency: as `check_open`, but audits that people read blind are shown: they hold nothing of the model."""
    for stage in _stages(client, batch_id):
        visibility = visibility_of(client, str(stage), key)
        if visibility.mode is not ScreeningMode.MODEL_AUDITED:
            visibility.check_whole()


def check_record_open(batch_id: BatchId, index: Index, client: Of, key: Reader) -> None:
    """A dependency: 403 while the record of the path is hidden from the caller, in any stage of its review."""
    found = client.batch(batch_id).uuid
    for stage in _stages(client, batch_id):
        visibility = visibility_of(client, str(stage), key)
        if visibility.hidden:
            with client.snapshot() as connection:
                place = index if stage == found else _place_in(connection, stage, found, index)
            if place is not None:
                visibility.check_record(place)


def _stages(client: Client, batch_id: str) -> list[UUID]:
    """Return the batch, and the other stages of its review."""
    found = client.batch(batch_id).uuid
    review = select(batches.c.review_id).where(batches.c.id == found).scalar_subquery()
    others = select(batches.c.id).where(batches.c.review_id == review, batches.c.id != found)
    with client.snapshot() as connection:
        return [found, *connection.execute(others).scalars()]


def _place_in(connection: Connection, stage: UUID, batch_id: UUID, index: int) -> int | None:
    """Return the place in a stage of the record at this place of the batch; None where it is not there."""
    origin = select(payloads.c.origin).where(payloads.c.batch_id == batch_id, payloads.c.idx == index)
    record = func.coalesce(origin.scalar_subquery(), index)  # its place in the first stage
    place_in_first = func.coalesce(payloads.c.origin, payloads.c.idx)
    statement = select(payloads.c.idx).where(payloads.c.batch_id == stage, place_in_first == record)
    place: int | None = connection.execute(statement).scalar()
    return place
