"""A service's task as Celery keeps it once it has its answer, and as its events and `celery inspect` show it.

What the sender's Celery made of the arguments (`argsrepr`) and Celery's own words for the result and the error hold
records' texts. The result and the error that the sender gets are none of this, and stay whole.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from celery.worker.request import Request

from tamis_producer.services.named_tasks import SERVICE, EvaluateRequest
from tamis_schemas import ErrorKind, OperationFailed, resolve_item_id
from tamis_schemas.batches import wire
from tamis_schemas.operations import OPERATIONS, operation_name

UNKNOWN = "unknown"
OPERATION_NAMES = frozenset(operation_name(kind) for kind in OPERATIONS)
KINDS = frozenset(ErrorKind)


def asked_words(task: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return what identifies a task: `operation=filter item=rec-14 service=celery`, `operation=filter items=12`."""
    named = kwargs.get("operation")
    operation = named if isinstance(named, str) and named in OPERATION_NAMES else UNKNOWN
    if task == wire.SUBMIT:
        items = args[0] if args else kwargs.get("items")
        return f"operation={operation} items={len(items) if isinstance(items, list) else UNKNOWN}"
    item = args[0] if args else kwargs.get("item")
    item_id = resolve_item_id(item) if isinstance(item, dict) else UNKNOWN
    return f"operation={operation} {wire.item_words(item_id)} service={SERVICE}"


def result_words(task: str, kwargs: Mapping[str, Any], result: Any) -> str:
    """Return what a task came to: a decision as of an item (`include 0.92`), or a batch's id."""
    if task == wire.SUBMIT:
        return str(result)
    operation = EvaluateRequest.model_validate({**kwargs, "item": {}}).parsed
    value = result["fields"] if "fields" in result else result["value"]
    return operation.result_words(value, result["confidence"])


def error_words(error: Exception) -> str:
    """Return the kind of an error; of one without a kind, its name."""
    kind = str(error).partition(":")[0]
    return kind if isinstance(error, OperationFailed) and kind in KINDS else type(error).__name__


ANSWER = "tamis_answer"  # the header under which an answer goes to the task's body, inside of this process
NAME = re.compile(r"\w+(?=\()")  # of an exception's class, in its `repr`


def without_content(headers: dict[str, Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    """Have the headers of a message show of its arguments what identifies the task, and nothing else."""
    headers["argsrepr"] = asked_words(headers["task"], args, kwargs)
    headers["kwargsrepr"] = "{}"


class SentRequest(Request):  # type: ignore[misc] # Celery ships no types
    """A request of Celery's whose headers are `without_content`."""

    def info(self, safe: bool = False) -> dict[str, Any]:
        """Return what `inspect` shows: never the arguments."""
        return {**super().info(safe=True), "kwargs": {}}

    def send_event(self, event: str, **fields: Any) -> None:
        """Send an event as an item's: its decision, or the kind of its error without a traceback."""
        answer = self.request_dict.get(ANSWER)
        if "result" in fields:
            fields["result"] = result_words(self.type, self.kwargs, answer)
        if "exception" in fields:
            fields["exception"] = error_words(answer) if isinstance(answer, Exception) else _name(fields["exception"])
            fields["traceback"] = None
        super().send_event(event, **fields)


def _name(shown: str) -> str:
    """The name of what went wrong after the answer."""
    found = NAME.match(shown)
    return "error" if found is None else found[0]
