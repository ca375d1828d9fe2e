"""A delivery: an item's message as it came from the broker, until it is acknowledged."""

import os
import time
from typing import Any
from uuid import UUID

from tamis_producer.process import tracing

from ..ledger.claims import ItemKey
from .stamped_headers import stamps_of


class Delivery:
    """One message of one item, with what Celery, its chords and its events ask of a request."""

    __slots__ = (
        "__weakref__", "acknowledged", "args", "begun", "body", "eventer", "group", "id", "key", "message", "name",
        "place", "started", "task", "traceparent",
    )  # fmt: skip

    def __init__(self, message: Any, task: Any, eventer: Any) -> None:
        """Raises `ValueError`, `TypeError` or `KeyError` where the message is not an item's."""
        headers = message.headers
        (batch_id, index), _, embedded = message.payload
        self.message = message
        self.task = task
        self.eventer = eventer
        self.key = ItemKey(UUID(batch_id), int(index))
        self.id: str = headers["id"]
        self.name: str = headers["task"]
        self.args: str = headers.get("argsrepr") or ""
        self.group: str | None = headers.get("group")  # of its chord
        self.place: int | None = headers.get("group_index")  # in that group
        self.body: dict[str, Any] | None = embedded.get("chord")  # of its chord
        self.traceparent: object = headers.get(tracing.HEADER)  # of its batch; unread, so it may be anything
        self.acknowledged = False
        self.begun = True  # False: its item was not even claimed, and the message goes back
        self.started = time.time()

    def info(self, safe: bool = False) -> dict[str, Any]:
        """Return what `inspect active` and Flower show."""
        return {
            "id": self.id,
            "name": self.name,
            "args": self.args,
            "kwargs": {},
            "type": self.name,
            "hostname": getattr(self.eventer, "hostname", None),
            "time_start": self.started,
            "acknowledged": self.acknowledged,
            "delivery_info": dict(self.message.delivery_info),
            "worker_pid": os.getpid(),
            "stamps": stamps_of(self.key),
        }

    def send_received(self) -> None:
        """Tell Celery's events that the item is here and begun."""
        if self._eventful:
            self.eventer.send(
                "task-received",
                uuid=self.id,
                name=self.name,
                args=self.args,
                kwargs="{}",
                root_id=self.id,
                parent_id=None,
                retries=0,
                eta=None,
                expires=None,
            )
            self.eventer.send("task-started", uuid=self.id)

    def send_succeeded(self) -> None:
        """Tell Celery's events that the item is done."""
        if self._eventful:
            self.eventer.send("task-succeeded", uuid=self.id, result="None", runtime=time.time() - self.started)

    @property
    def _eventful(self) -> bool:
        return self.eventer is not None and bool(self.eventer.enabled)
