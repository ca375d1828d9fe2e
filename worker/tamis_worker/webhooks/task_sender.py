"""One try of a task that is sent when a batch is complete: through the broker, in the place of a webhook."""

import asyncio
import json
from http import HTTPStatus
from typing import Any
from uuid import UUID

from celery import Celery

from tamis_producer.transport.broker import broker_errors
from tamis_schemas import BrokerUnavailable
from tamis_schemas.batches.callback import SCHEME, OnComplete

from .schedule import Answer


def is_task(url: str) -> bool:
    """True of the address of a task."""
    return url.startswith(f"{SCHEME}:")


class TaskSender:
    """Sends tasks by an application; each try under the id that it has in the outbox, by which a receiver tells it."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    async def send(self, webhook_id: UUID, url: str, body: str) -> Answer:
        """Send one try and return what came of it: what the broker took is delivered."""
        written = json.loads(body)
        task = OnComplete.model_validate(written["task"])
        try:
            await asyncio.to_thread(self._publish, str(webhook_id), task, written["data"])
        except BrokerUnavailable as error:
            return Answer(None, str(error))
        return Answer(HTTPStatus.ACCEPTED, f"sent into the queue {task.queue}")

    async def close(self) -> None:
        """Close nothing: the application is the worker's."""

    def _publish(self, task_id: str, task: OnComplete, told: dict[str, Any]) -> None:
        with broker_errors(self._app):
            self._app.send_task(
                task.task,
                args=task.args if task.immutable else [told, *task.args],
                kwargs=task.kwargs,
                queue=task.queue,
                task_id=task_id,
                retry=False,  # the outbox sees to that
                ignore_result=False,
                add_to_parent=False,
            )
