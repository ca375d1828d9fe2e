"""Tasks that other services call by name, without Tamis installed: a batch, or one item's result."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tamis_schemas import (
    InvalidParameters,
    ItemStatus,
    Operation,
    OperationFailed,
    Priority,
    parse_operation,
    resolve_item_id,
)
from tamis_schemas.batches import wire
from tamis_schemas.operations import validated

from ..calls.single_calls import CallQuestion
from ..client.client import Client
from ..ledger import CallResult
from ..submission.budget import amount_of

SERVICE = "celery"  # name under which single calls are shown together


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    operation: str
    params: dict[str, Any] = Field(default_factory=dict)
    model: str | None = None

    @property
    def parsed(self) -> Operation:
        """The operation with its parameters. May raise `InvalidParameters`."""
        return parse_operation({**self.params, "operation": self.operation})


class EvaluateRequest(_Asked):
    """One item, and the question about it."""

    item: dict[str, Any]
    fresh: bool = False  # ignore cached answers


class SubmitRequest(_Asked):
    """A batch, with arguments as for `Client.submit`."""

    items: list[dict[str, Any]]
    label: str | None = None
    idempotency_key: str | None = None
    max_cost: Annotated[Any, BeforeValidator(amount_of)] = None
    priority: Priority = Priority.NORMAL
    use_cache: bool = True
    on_complete: dict[str, Any] | None = None  # a Celery signature


Request = TypeVar("Request", EvaluateRequest, SubmitRequest)


class NamedTasks:
    """The two tasks `evaluate` and `submit`, which share one client.

    If a task id is repeated, the earlier batch or call is found: nothing is submitted or paid for twice. Only the first
    argument (`item` or `items`) may be positional: Celery's chains and chords pass the previous result in this way.
    """

    def __init__(self, client: Client) -> None:
        """Prepare the tasks. `client` submits the batches, and stays open."""
        self._client = client

    async def evaluate(self, task_id: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the id and the result of the task's item, as JSON values. `args` and `kwargs`: the task's arguments.

        Raises:
            InvalidParameters: an argument is wrong; the message names it. Nothing is written.
            OperationFailed: there is no result; the message has the reason.
            LedgerUnavailable: the ledger does not answer; the call may be repeated.
        """
        request = _parsed(EvaluateRequest, wire.EVALUATE, "item", args, kwargs)
        question = CallQuestion(request.parsed, service=SERVICE, model=request.model, fresh=request.fresh)
        # The arguments too, because a service may use an id again when Celery has forgotten its result.
        call = json.dumps([task_id, request.model_dump()], default=str)
        call_id = UUID(bytes=hashlib.sha256(call.encode()).digest()[:16])
        return result_of(request.item, await self._client.calls.ask(question, request.item, call_id=call_id))

    def submit(self, task_id: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """Submit a batch, and return its id when it is in the ledger. Call this on a thread.

        Raises the errors of `Client.submit`.
        """
        request = _parsed(SubmitRequest, wire.SUBMIT, "items", args, kwargs)
        batch = self._client.submit(
            request.parsed,
            request.items,
            model=request.model,
            label=request.label,
            idempotency_key=f"celery task {task_id}" if request.idempotency_key is None else request.idempotency_key,
            max_cost=request.max_cost,
            priority=request.priority,
            use_cache=request.use_cache,
            on_complete=request.on_complete,
        )
        return str(batch.id)


def result_of(item: Mapping[str, Any], came: CallResult) -> dict[str, Any]:
    """Return the item's id and result, as JSON values. Raises `OperationFailed` with the reason if there is none."""
    if came.result is None:
        raise OperationFailed(came.reason)
    if came.status is ItemStatus.FAILED:
        raise OperationFailed(f"{came.error_kind}: {came.result.error}")
    detail = {} if came.detail is None else {"detail": dict(came.detail)}
    return {"item_id": resolve_item_id(dict(item)), **came.result.model_dump(mode="json"), **detail}


def _parsed(kind: type[Request], task: str, first: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Request:
    if len(args) > 1:
        raise InvalidParameters(f"{task}: {len(args)} positional arguments; only {first!r} may be positional")
    arguments = {**dict(zip((first,), args, strict=False)), **kwargs}
    if args and first in kwargs:
        raise InvalidParameters(
            f"{first}: it is given twice, once by position; `.si(...)` makes a signature without the previous result"
        )
    if extra := sorted(set(arguments) - set(kind.model_fields)):
        takes = ", ".join(sorted(kind.model_fields, key=lambda name: name != first))
        raise InvalidParameters(
            f"{extra[0]!r:.80}: not an argument of {task}, which takes {takes}; put the operation's into `params`"
        )
    return validated(kind, arguments)
