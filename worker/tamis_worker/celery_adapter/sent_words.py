"""What Celery's events may tell of a service's task: ids, numbers, decisions and kinds of errors, as of items.

Nothing is taken to be what it should be: a sender may have put a record's text anywhere.
"""

from collections.abc import Mapping, Sequence
from typing import Any

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
