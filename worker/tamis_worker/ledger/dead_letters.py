"""Dead letters: the messages that this worker did not understand, written for people to look at."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import insert, update
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas.ledger import dead_letters

from .connection import transaction


@dataclass(frozen=True)
class DeadLetter:
    """What is kept of a message, and why nobody understands it; every text as the ledger can hold it."""

    why: str
    queue: str | None
    task: str | None
    task_id: str | None
    content_type: str | None
    content_encoding: str | None
    headers: dict[str, Any]
    properties: dict[str, Any]
    body: str
    in_base64: bool  # the body, which is no text
    body_bytes: int  # as it came
    whole: bool  # nothing of it was cut off or taken out


@dataclass(frozen=True)
class Gathered:
    """Messages that came together: those that are kept, and how many more there were."""

    letters: tuple[DeadLetter, ...]
    more: int


class DeadLetterTable:
    """The dead letters of one worker in the ledger."""

    def __init__(self, engine: AsyncEngine, *, worker: str) -> None:
        self._engine = engine
        self._worker = worker
        self._latest: int | None = None  # the letter of this worker on which further messages are counted

    async def record(self, gathered: Sequence[Gathered]) -> Sequence[None]:
        """Write all of them in one transaction, in their order. Raises `LedgerUnavailable`."""
        rows = [asdict(letter) | {"worker": self._worker} for one in gathered for letter in one.letters]
        more = sum(one.more for one in gathered)
        latest = self._latest
        async with transaction(self._engine) as connection:
            if rows:
                written = await connection.execute(insert(dead_letters).values(rows).returning(dead_letters.c.id))
                latest = max(written.scalars())
            if more:
                counted = update(dead_letters).where(dead_letters.c.id == latest)
                await connection.execute(counted.values(more=dead_letters.c.more + more))
        self._latest = latest
        return [None] * len(gathered)
