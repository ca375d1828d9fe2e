"""The Celery task that is sent when a batch is complete."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import ConfigDict, Field, ValidationError

from ..errors import InvalidParameters
from ..values.frozen import Frozen
from .callback import BatchEvent

SCHEME = "celery"  # of the address under which it stands beside webhooks
KEPT_BY_CELERY = ("options", "subtask_type", "chord_size")  # further members of a signature


class OnComplete(Frozen):
    """A task by name, with its queue and arguments; what came of the batch goes before them, unless it is immutable."""

    model_config = ConfigDict(extra="forbid")

    task: str = Field(min_length=1, max_length=500)
    queue: str = Field(pattern=r"^[^/\s]+$", max_length=200)
    args: list[Any] = Field(default_factory=list)
    kwargs: dict[str, Any] = Field(default_factory=dict)
    immutable: bool = False

    @classmethod
    def of(cls, signature: object) -> Self:
        """The task of a Celery signature, as an object or as the dict that it becomes in a message.

        Raises `InvalidParameters` naming what is wrong with it.
        """
        if not isinstance(signature, Mapping):
            raise InvalidParameters(f"on_complete: a {type(signature).__name__}, not a signature")
        if (kind := signature.get("subtask_type")) is not None:
            raise InvalidParameters(f"on_complete: a {kind}, not one task; a task of yours may begin it")
        options = {name: value for name, value in (signature.get("options") or {}).items() if value is not None}
        queue = signature.get("queue", options.pop("queue", None))
        if queue is None:
            raise InvalidParameters("on_complete: it names no queue: signature.set(queue=...)")
        if options:
            raise InvalidParameters(f"on_complete: the option {min(options)!r} is not kept; only the queue is")
        given = {name: value for name, value in signature.items() if name not in KEPT_BY_CELERY}
        try:
            return cls.model_validate({**given, "queue": getattr(queue, "name", queue)})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise InvalidParameters(f"on_complete.{first['loc'][0]}: {first['msg']}") from error

    @property
    def url(self) -> str:
        """The address under which it stands in the outbox."""
        return f"{SCHEME}://{self.queue}/{self.task}"

    def kept(self) -> dict[str, Any]:
        """Return it as the ledger keeps it: in the place of a `Callback`, with the one event that it is sent at."""
        return {"url": self.url, "events": [BatchEvent.COMPLETED.value], "task": self.model_dump()}
