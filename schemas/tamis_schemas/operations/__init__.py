"""The operations and their parameters: a batch's question about each of its items."""

from typing import Annotated, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ..errors import InvalidParameters, InvalidRequest
from .answer import Answer
from .extract import Extract
from .extract_fields import ExtractFields
from .filter import Filter
from .inclusion import Inclusion, UnclearPolicy, UnverifiedPolicy, as_asked_for
from .judge import Judge
from .kind import OperationKind, TypedOperation, operation_name
from .panel import Panel, PanelPolicy, models_in, models_of, panel_of
from .score import Score

__all__ = [
    "OPERATIONS",
    "Answer",
    "Extract",
    "ExtractFields",
    "Filter",
    "Inclusion",
    "Judge",
    "NamedOperation",
    "Operation",
    "OperationKind",
    "Panel",
    "PanelPolicy",
    "Score",
    "TypedOperation",
    "UnclearPolicy",
    "UnverifiedPolicy",
    "as_asked_for",
    "check_decides",
    "first_complaint",
    "kind_of",
    "models_in",
    "models_of",
    "operation_name",
    "panel_of",
    "parse_operation",
    "validated",
    "verdict",
]

Model = TypeVar("Model", bound=BaseModel)
Operation = Filter | Score | Extract | ExtractFields | Inclusion | Judge | Answer
OPERATIONS: tuple[type[OperationKind], ...] = get_args(Operation)

_KINDS = {operation_name(kind): kind for kind in OPERATIONS}

NamedOperation = Annotated[Operation, Field(discriminator="operation")]  # identified by its name in `operation`

_adapter: TypeAdapter[Operation] = TypeAdapter(NamedOperation, config=ConfigDict(defer_build=True))


def kind_of(name: str) -> type[OperationKind]:
    """Return the class of the operation with this name.

    For a name from a later release, return a class that decides nothing.
    """
    return _KINDS.get(name, OperationKind)


def check_decides(batch_id: object, operation: str, purpose: str) -> None:
    """Raise `InvalidRequest` if a batch's operation makes no decisions to include or exclude records.

    `purpose`: the caller's action, which needs decisions; the message names it.
    """
    if not kind_of(operation).decides():
        raise InvalidRequest(
            f"batch {batch_id} has the operation {operation}, which includes and excludes nothing. {purpose} needs a "
            "batch of `tamis screen` or `tamis filter`"
        )


def verdict(value: object) -> bool | None:
    """Return True if this value includes a record in any operation, False if the value excludes it, else None."""
    return next((included for kind in OPERATIONS if (included := kind.verdict(value)) is not None), None)


def parse_operation(params: object) -> Operation:
    """Return the operation of a batch's stored parameters.

    Raises `InvalidParameters` with the field if the parameters are invalid.
    """
    try:
        return _adapter.validate_python(params)
    except ValidationError as error:
        raise InvalidParameters(f"operation: {first_complaint(error)}") from error


def validated(model: type[Model], values: object, place: str = "") -> Model:
    """Return the values as an instance of the model.

    If they are invalid, raise `InvalidParameters` with the field; the message begins with `place`.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InvalidParameters(f"{place}{first_complaint(error)}") from error


def first_complaint(error: ValidationError) -> str:
    """Return the complaint about the first wrong parameter: `field: message`."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{field}: {message}" if field else message  # a mistake across several fields names them itself
