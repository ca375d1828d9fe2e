"""Batches that somebody is told of, in a ledger whose workers are the test itself."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Connection, func, select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Client
from tamis_schemas import Callback, Filter
from tamis_schemas.ledger import webhooks
from tamis_worker.ledger.connection import connect

QUESTION = Filter(criteria="Is it a trial?")
HOOK = "https://hooks.example/tamis"


@dataclass(frozen=True)
class Outbox:
    """A ledger in which batches go where the test says."""

    client: Client
    engine: AsyncEngine

    def batch(self, n: int = 4, callback: Callback | None = None, **options: Any) -> str:
        """The id of a new batch that runs."""
        callback = callback or Callback(url=HOOK)
        batch = self.client.submit(QUESTION, abstracts(n), callback=callback, use_cache=False, **options)
        return batch.id

    def asked(self) -> tuple[Filter, list[dict[str, Any]]]:
        """A question, and two items."""
        return QUESTION, abstracts(2)

    def sql(self, statement: str, **given: object) -> list[Any]:
        """The rows of a statement, in a transaction of its own."""
        with self.client.engine.begin() as connection:
            done = connection.execute(text(statement), given)
            return list(done.all()) if done.returns_rows else []

    def decide(self, batch_id: str, failed: int, decided: int) -> None:
        """Let items that are pending end."""
        for state, n in (("failed", failed), ("decided", decided)):
            for step in ("running", state):
                before = "pending" if step == "running" else "running"
                self.sql(
                    "UPDATE item_states SET state = :step WHERE batch_id = :id AND idx IN (SELECT idx FROM items "
                    "WHERE batch_id = :id AND state = :before ORDER BY idx LIMIT :n)",
                    step=step, id=batch_id, before=before, n=n,
                )  # fmt: skip

    def rows(self) -> list[Any]:
        """The webhooks, the oldest first."""
        with self.client.engine.connect() as connection:
            return _rows(connection)

    def pass_time(self, seconds: float) -> None:
        """Let everything that is waited for come nearer: the clock is the database's, so its rows move."""
        self.sql(
            "UPDATE webhooks SET next_at = next_at - CAST(:s AS interval), "
            "claimed_until = claimed_until - CAST(:s AS interval), ended_at = ended_at - CAST(:s AS interval)",
            s=f"{seconds} seconds",
        )

    def wait_of(self, webhook_id: object) -> float:
        """Seconds until the next try."""
        w = webhooks.c
        with self.client.engine.connect() as connection:
            left = func.extract("epoch", w.next_at - func.now())
            return float(connection.execute(select(left).where(w.id == webhook_id)).scalar_one())


def _rows(connection: Connection) -> list[Any]:
    return list(connection.execute(select(webhooks).order_by(webhooks.c.created_at, webhooks.c.type)).all())


@pytest.fixture
async def outbox(client: Client, database_url: str) -> AsyncIterator[Outbox]:
    engine = connect(database_url)
    yield Outbox(client, engine)
    await engine.dispose()
