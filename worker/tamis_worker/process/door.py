"""The door for services that have Celery and nothing of Tamis: what they send by name, answered by a client."""

import asyncio
import logging
from typing import Any

from tamis_producer.client.client import Client
from tamis_producer.services.named_tasks import NamedTasks
from tamis_schemas import LedgerUnavailable
from tamis_schemas.batches import wire

from ..celery_adapter.awaited_strategy import SentTask
from ..config.settings import WorkerSettings

AGAIN_AFTER = 1.0  # s; while the ledger does not answer

log = logging.getLogger(__name__)


class Door:
    """Answers what services send, with a client of its own; it connects with the first of them."""

    def __init__(self, settings: WorkerSettings) -> None:
        """Connects to nothing yet. Raises `ConfigurationError` where a setting is missing."""
        self._client = Client(settings)
        self._tasks = NamedTasks(self._client)

    async def answer(self, sent: SentTask) -> Any:
        """Return the result of a task. Raises what its sender is to hear; an outage of the ledger is waited out."""
        while True:
            try:
                if sent.name == wire.SUBMIT:
                    return await asyncio.to_thread(self._tasks.submit, sent.id, sent.args, sent.kwargs)
                return await self._tasks.evaluate(sent.id, sent.args, sent.kwargs)
            except LedgerUnavailable as error:
                log.debug("%s[%s] waits: %s", sent.name, sent.id, error)
            await asyncio.sleep(AGAIN_AFTER)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()
