"""The retention policy: deletes old batches and answers little by little.

The policy runs in every worker whose settings limit the age of data, but an advisory lock admits one step at a time. A
step is one short transaction in a separate thread. A step that writes an archive takes longer, because the archive
holds all rows of a batch.
"""

import asyncio
import logging
import threading

from sqlalchemy import Connection, Engine, func, select

from tamis_producer.ledger import ledger_errors
from tamis_producer.retention.deletion import delete_slice, prune_answers
from tamis_producer.retention.purge import archive_locked
from tamis_producer.retention.subjects import find_subjects

from ..config.settings import Policy
from ..engine.backpressure import Backpressure
from ..event_loop.loop import Looper

RETENTION_LOCK = 7_264_952  # a Postgres advisory lock: one worker takes a step at a time
PAUSE = 0.2  # s between two slices; longer than a slice holds its locks

log = logging.getLogger(__name__)


class Stopped(Exception):
    """Raised to interrupt the writing of a batch's archive. No row of the batch is then deleted."""


class Retention:
    """The deletion of old data, step by step."""

    def __init__(self, engine: Engine, policy: Policy, *, interval: float, backpressure: Backpressure) -> None:
        self._engine = engine
        self._policy = policy
        self._looper = Looper("retention", self._look, interval)
        self._backpressure = backpressure
        self._stopping = threading.Event()

    async def run(self) -> None:
        """Delete old data until cancelled."""
        try:
            await self._looper.run()
        finally:
            self._stopping.set()

    async def _look(self) -> float | None:
        await self._backpressure.clear()
        return PAUSE if await asyncio.to_thread(self.step) else None

    def step(self) -> bool:
        """Delete or archive the next old data. Return True if this step changed any data.

        Raise `TamisError` if the ledger does not answer, or if an archive cannot be written.
        """
        try:
            with ledger_errors(), self._engine.begin() as connection:
                lock = select(func.pg_try_advisory_xact_lock(RETENTION_LOCK))
                return bool(connection.execute(lock).scalar_one()) and self._next(connection)
        except Stopped:
            return False

    def _next(self, connection: Connection) -> bool:
        policy = self._policy
        if policy.answers is not None and prune_answers(connection, policy.answers):
            return True
        if policy.batches is None:
            return False
        if delete_slice(connection) is not None:
            return True
        for subject in find_subjects(connection, older_than=policy.batches, limit=1):
            purged = archive_locked(connection, subject, archive=policy.archive, going_on=self._go_on)
            if purged is not None:
                kept = "not archived" if policy.archive is None else f"archived in {policy.archive}"
                log.info("%s=%s is purged: %d items, %s", subject.noun, subject.id, subject.items, kept)
                return True
        return False

    def _go_on(self) -> None:
        if self._stopping.is_set():
            raise Stopped
