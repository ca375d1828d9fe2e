"""Dead letters for people: the messages that no worker understood, each with what is wrong with it."""

import base64
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select

from tamis_schemas import InvalidRequest
from tamis_schemas.ledger import dead_letters
from tamis_schemas.values.frozen import Frozen


class DeadLetter(Frozen):
    """A message that no worker understood, as far as it is kept."""

    id: int
    created_at: datetime
    worker: str
    queue: str | None  # what the message says; None: it does not
    task: str | None
    task_id: str | None
    why: str  # what is wrong with it, and the likely mistake
    content_type: str | None
    content_encoding: str | None
    headers: dict[str, Any]
    properties: dict[str, Any]  # what else the broker knew of it
    body: str  # as far as it is kept; in base64 where it is no text
    in_base64: bool
    body_bytes: int  # as it came
    whole: bool  # nothing of it was cut off or taken out
    more: int  # messages that the same worker counted after it and did not keep, because too many came

    @property
    def raw(self) -> bytes:
        """The body as far as it is kept."""
        return base64.b64decode(self.body) if self.in_base64 else self.body.encode()


def read_dead_letters(connection: Connection, *, limit: int = 20) -> list[DeadLetter]:
    """Return the latest ones, newest first."""
    latest = select(dead_letters).order_by(dead_letters.c.id.desc()).limit(limit)
    return [DeadLetter.model_validate(row._asdict()) for row in connection.execute(latest)]


def read_dead_letter(connection: Connection, letter_id: int) -> DeadLetter:
    """Return one. Raises `InvalidRequest` where there is none of this number."""
    row = connection.execute(select(dead_letters).where(dead_letters.c.id == letter_id)).one_or_none()
    if row is None:
        raise InvalidRequest(f"there is no dead letter {letter_id}: `tamis dead-letters` lists them")
    return DeadLetter.model_validate(row._asdict())


def take_dead_letter(connection: Connection, letter_id: int) -> DeadLetter:
    """Return one that can be sent again, and delete it. Raises `InvalidRequest` where there is none of that kind."""
    letter = read_dead_letter(connection, letter_id)
    if not letter.whole:
        raise InvalidRequest(
            f"dead letter {letter_id} is not kept whole, so it cannot be sent again as it came: "
            "whoever sent it has to send it once more"
        )
    connection.execute(delete(dead_letters).where(dead_letters.c.id == letter_id))
    return letter


def count_dead_letters(connection: Connection) -> int:
    """Return how many messages nobody understood, those among them that were only counted."""
    counted = select(func.count() + func.coalesce(func.sum(dead_letters.c.more), 0)).select_from(dead_letters)
    return int(connection.execute(counted).scalar_one())


def purge_dead_letters(connection: Connection) -> int:
    """Delete all of them, and return how many there were."""
    return connection.execute(delete(dead_letters)).rowcount
