"""The deliverer: claims due webhooks, sends each in a separate asyncio task, and records the result.

The deliverer runs in every worker. A webhook is delivered at least once. If no answer is recorded (worker dead, ledger
unavailable), the claim expires, and the webhook is sent again with the same id and body.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Protocol, Self
from uuid import UUID

from celery import Celery
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas import LedgerUnavailable

from ..config.settings import WorkerSettings
from ..event_loop.loop import Looper, end_tasks
from ..ledger.connection import transaction
from . import outbox
from .schedule import DeliveryAnswer, decide
from .sender import Sender, TaskSender, is_task

POLL = 2.0  # s between two checks for due webhooks
AT_ONCE = 8  # tries in flight in one worker
SWEEPS = 5  # checks between two counts of failures
PRUNES = 1_800  # checks between two prunings: an hour
UNSIGNED = "not sent: the workers have no TAMIS_WEBHOOK_SECRET"

log = logging.getLogger(__name__)


class Sends(Protocol):
    """The interface of a sender. One class sends webhooks, and another sends Celery tasks in place of webhooks."""

    async def send(self, webhook_id: UUID, url: str, body: str) -> DeliveryAnswer:
        """Send a webhook once, and return the receiver's answer."""

    async def close(self) -> None:
        """Close open connections."""


@dataclass(eq=False)
class Deliverer:
    """The deliverer of a ledger's webhooks. The deliverer works until `run` is cancelled.

    `tasks` sends Celery tasks in place of webhooks. Without a secret for signatures, `sender` is None, and only tasks
    are sent.
    """

    engine: AsyncEngine
    sender: Sends | None
    _: KW_ONLY
    tasks: Sends
    keep_days: float
    jitter: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        self._tries: set[asyncio.Task[None]] = set()
        self._looks = 0

    @classmethod
    def of(cls, engine: AsyncEngine, settings: WorkerSettings, app: Celery) -> Self:
        """Return the deliverer of a worker. The deliverer sends Celery tasks through the application `app`."""
        secret = settings.webhook_secret
        sender = None if secret is None else Sender(secret, private=settings.webhook_private)
        return cls(engine, sender, tasks=TaskSender(app), keep_days=settings.webhook_keep_days)

    async def run(self) -> None:
        """Look for due webhooks and send them, until cancelled.

        Unfinished tries are repeated when the claims of their webhooks expire.
        """
        try:
            await Looper("webhooks", self.look, POLL).run()
        finally:
            await end_tasks(*self._tries)
            await self.close()

    async def look(self) -> None:
        """Begin to send due webhooks, until `AT_ONCE` tries are in flight.

        Raise `LedgerUnavailable` if Postgres does not answer.
        """
        self._looks += 1
        if self._looks % SWEEPS == 1:
            await outbox.tell_failing(self.engine)
        if self._looks % PRUNES == 1:
            async with transaction(self.engine) as connection:
                await outbox.prune(connection, days=self.keep_days)
        if self.sender is None and (waiting := await outbox.say_why_they_wait(self.engine, UNSIGNED)):
            log.warning("%d webhooks wait: TAMIS_WEBHOOK_SECRET is not set here", waiting)
        if room := AT_ONCE - len(self._tries):
            for claimed in await outbox.claim(self.engine, room, signed=self.sender is not None):
                sender = self.tasks if is_task(claimed.url) else self.sender
                assert sender is not None  # noqa: S101 - otherwise it was not claimed
                task = asyncio.create_task(self._deliver(sender, claimed), name=f"webhook {claimed.id}")
                self._tries.add(task)
                task.add_done_callback(self._tries.discard)

    async def close(self) -> None:
        """Close open connections."""
        if self.sender is not None:
            await self.sender.close()

    async def settled(self) -> None:
        """Wait until no try is in flight."""
        if self._tries:
            await asyncio.wait(self._tries)

    async def _deliver(self, sender: Sends, claimed: outbox.Claimed) -> None:
        answer = await sender.send(claimed.id, claimed.url, claimed.body)
        decision = decide(answer, claimed.tries, jitter=self.jitter())
        level = logging.INFO if decision.delivered else logging.WARNING
        log.log(level, "webhook=%s try=%d: %s", claimed.id, claimed.tries, decision.said)
        with suppress(LedgerUnavailable):  # it is sent again when the claim expires
            await outbox.finish(self.engine, claimed, answer.status, decision)
