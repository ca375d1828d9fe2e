"""Sampling frames of the stop rule in the ledger: the records of a frame, their order, and the number drawn."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import Connection, func, insert, select, update

from tamis_schemas.ledger import stop_samples


@dataclass(frozen=True)
class Promise:
    """The recall, and the confidence in this recall, that a team requests before it stops reading."""

    recall: float
    confidence: float


@dataclass(frozen=True)
class StoredFrame:
    """A sampling frame: the records that were unread when the frame was made, in random order.

    The first `drawn` records are the sample.
    """

    id: UUID
    batch_id: UUID
    number: int  # among the batch's frames, from 1
    seed: int
    recall: float  # recall requested at the last draw
    confidence: float
    records: Sequence[int]  # all records, in the order of the draw
    drawn: int
    created_at: datetime
    closed_at: datetime | None = None

    @property
    def promise(self) -> Promise:
        """The recall and confidence of the last draw."""
        return Promise(self.recall, self.confidence)

    @property
    def sample(self) -> Sequence[int]:
        """The drawn records, which people were asked to read, in the order of the draw."""
        return self.records[: self.drawn]


def read_frames(connection: Connection, batch_id: UUID) -> list[StoredFrame]:
    """Return the sampling frames of a batch, oldest first. At most the last frame is open for further draws."""
    statement = select(stop_samples).where(stop_samples.c.batch_id == batch_id).order_by(stop_samples.c.number)
    return [StoredFrame(**row._asdict()) for row in connection.execute(statement)]


def read_open_sample(connection: Connection, batch_id: UUID) -> list[int]:
    """Return the drawn records of the open sampling frame, in the order of the draw; empty if no frame is open."""
    drawn = func.trim_array(stop_samples.c.records, func.cardinality(stop_samples.c.records) - stop_samples.c.drawn)
    is_open = (stop_samples.c.batch_id == batch_id) & stop_samples.c.closed_at.is_(None)
    return connection.execute(select(drawn).where(is_open)).scalar_one_or_none() or []


def insert_frame(
    connection: Connection, batch_id: UUID, *, number: int, seed: int, promise: Promise, records: Sequence[int]
) -> None:
    """Write a sampling frame from which nothing is drawn yet. `records`: unread records, in the order of the draw."""
    row = {"id": uuid4(), "batch_id": batch_id, "number": number, "seed": seed, "records": list(records)}
    connection.execute(insert(stop_samples).values(row | asdict(promise)))


def extend_frame(connection: Connection, frame_id: UUID, drawn: int, promise: Promise) -> None:
    """Make the first `drawn` records of a sampling frame the sample, and store the requested recall and confidence."""
    of_frame = update(stop_samples).where(stop_samples.c.id == frame_id)
    connection.execute(of_frame.values(drawn=drawn, **asdict(promise)))


def close_frame(connection: Connection, frame_id: UUID) -> None:
    """Close a sampling frame: no further record is drawn from the frame."""
    connection.execute(update(stop_samples).where(stop_samples.c.id == frame_id).values(closed_at=func.now()))
