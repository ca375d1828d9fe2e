"""The receivers of a batch's events: a URL, or a Celery task."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, ValidationError, field_validator

from ..errors import InvalidParameters
from ..values.frozen import Frozen

LONGEST_URL = 2_000  # characters
SCHEMES = ("https", "http")
SCHEME = "celery"  # scheme of a task's address in the outbox of webhooks
KEPT_BY_CELERY = ("options", "subtask_type", "chord_size")  # further members of a signature


class BatchEvent(StrEnum):
    """An event that a receiver can be notified of."""

    COMPLETED = "batch.completed"  # or cancelled, and no call is in flight: nothing more happens
    PAUSED = "batch.paused"  # the batch paused itself: it needs a correction before it can continue
    FAILING = "batch.failing"  # more of its items failed than `failed_share`; once a round


class Callback(Frozen):
    """A URL that receives a signed webhook for each event."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(max_length=LONGEST_URL, description="https, or http if the workers allow it.")
    events: tuple[BatchEvent, ...] = Field(default=tuple(BatchEvent), min_length=1)
    failed_share: float = Field(
        strict=True,
        default=0.1,
        ge=0,
        le=1,
        description="Share of ended items; if more failed, the batch is failing.",
    )

    def kept(self) -> dict[str, Any]:
        """Return the callback as JSON values, which the ledger stores."""
        return self.model_dump(mode="json")

    @field_validator("url")
    @classmethod
    def _can_be_called(cls, url: str) -> str:
        """Refuse a URL that cannot be called, or that contains a user or password."""
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:
            raise ValueError("it is not a URL like https://host/path") from None
        if parts.scheme not in SCHEMES or not parts.hostname:
            raise ValueError("a callback must begin with https:// and a host")
        if not url.isascii() or not url.isprintable() or " " in url:
            raise ValueError("a callback may contain only ASCII characters, no spaces: write others as %XX")
        if "@" in parts.netloc:
            raise ValueError("a callback must not contain user or password: webhooks are signed, see docs/webhooks.md")
        return url


class OnComplete(Frozen):
    """A Celery task by name, with its queue and arguments.

    The task's first argument is the batch's outcome, unless the task is immutable.
    """

    model_config = ConfigDict(extra="forbid")

    task: str = Field(min_length=1, max_length=500)
    queue: str = Field(pattern=r"^[^/\s]+$", max_length=200)
    args: list[Any] = Field(default_factory=list)
    kwargs: dict[str, Any] = Field(default_factory=dict)
    immutable: bool = False

    @classmethod
    def of(cls, signature: object) -> Self:
        """Return the task of a Celery signature. The signature may be an object, or its dict from a message.

        Raises `InvalidParameters` with the mistake.
        """
        if not isinstance(signature, Mapping):
            raise InvalidParameters(f"on_complete: a {type(signature).__name__}, not a signature")
        if (kind := signature.get("subtask_type")) is not None:
            raise InvalidParameters(f"on_complete: a {kind}, not a single task; your task may start the {kind}")
        options = {name: value for name, value in (signature.get("options") or {}).items() if value is not None}
        queue = signature.get("queue", options.pop("queue", None))
        if queue is None:
            raise InvalidParameters("on_complete: the queue is missing: signature.set(queue=...)")
        if options:
            raise InvalidParameters(f"on_complete: the option {min(options)!r} is not supported; only the queue is")
        members = {name: value for name, value in signature.items() if name not in KEPT_BY_CELERY}
        try:
            return cls.model_validate({**members, "queue": getattr(queue, "name", queue)})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise InvalidParameters(f"on_complete.{first['loc'][0]}: {first['msg']}") from error

    @property
    def url(self) -> str:
        """The task's address in the table of webhooks to send: `celery://queue/task`."""
        return f"{SCHEME}://{self.queue}/{self.task}"

    def kept(self) -> dict[str, Any]:
        """Return the task as JSON values for the ledger: like a `Callback` with the single event `completed`."""
        return {"url": self.url, "events": [BatchEvent.COMPLETED.value], "task": self.model_dump()}
