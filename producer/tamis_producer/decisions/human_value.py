"""A human's decision as a value: what an operation could have given, from a program or from a line of text."""

import json
from math import isfinite
from typing import Any

from tamis_schemas import (
    Extract,
    ExtractFields,
    Filter,
    Inclusion,
    InclusionStatus,
    InvalidParameters,
    Operation,
    Score,
)
from tamis_schemas.operations.extract_fields import dialect
from tamis_schemas.operations.given_fields import nothing_required, without_nulls
from tamis_schemas.values.unstorable import UNSTORABLE

from ..submission.new_batch import to_json

YES, NO = ("include", "true", "yes", "y", "1"), ("exclude", "false", "no", "n", "0")
STATUSES = (InclusionStatus.INCLUDE.value, InclusionStatus.EXCLUDE.value)


def checked_value(operation: Operation, value: object) -> Any:
    """The value as it is kept: a status, True or False, a number, what was extracted.

    Raises:
        InvalidParameters: the operation could not have given it, or is none whose results a human decides.
    """
    match operation:
        case Inclusion():
            if value not in STATUSES:
                raise InvalidParameters(f"{value!r} is no decision: a human says include or exclude")
            return str(value)
        case Filter():
            if not isinstance(value, bool):
                raise InvalidParameters(f"{value!r} is no decision: a human says True or False")
            return value
        case Score():
            return _on_scale(operation, value)
        case Extract():
            return _extracted(operation, value)
        case ExtractFields():
            return _fields(operation, value)
    raise InvalidParameters(
        f"results of {operation.operation} are no decisions on a record: they cannot be overridden. Correct the "
        "record's own result instead, in the batch that it is of"
    )


def value_of_text(operation: Operation, text: str) -> Any:
    """What a person wrote, on a command line or in a table, as a checked value; raises as `checked_value` does."""
    text = text.strip()
    match operation:
        case Inclusion():
            return checked_value(operation, text.lower())
        case Filter():
            return boolean(text)
        case Score() | Extract(output_type="number"):
            try:
                return checked_value(operation, float(text))
            except ValueError as error:
                raise InvalidParameters(f"{text!r} is no number") from error
        case Extract(output_type="boolean"):
            return boolean(text)
        case ExtractFields():
            try:
                return checked_value(operation, json.loads(text))
            except json.JSONDecodeError as error:
                raise InvalidParameters(f"the fields are one JSON object; this is none: {error.msg}") from error
    return checked_value(operation, text)


def boolean(text: str) -> bool:
    """include, true, yes, y, 1 and their opposites, in any case. Raises `InvalidParameters` for anything else."""
    word = text.strip().lower()
    if word in YES:
        return True
    if word in NO:
        return False
    raise InvalidParameters(f"{text!r} is no decision: write include or exclude, or yes or no")


def _on_scale(scale: Score, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise InvalidParameters(f"{value!r} is no number")
    if not scale.min_value <= value <= scale.max_value:
        raise InvalidParameters(f"{value!r} lies outside the scale from {scale.min_value!r} to {scale.max_value!r}")
    on_grid = scale.on_grid(float(value))
    if on_grid is None:
        raise InvalidParameters(
            f"{value!r} is no value of the scale, which goes from {scale.min_value!r} by {scale.interval!r}"
        )
    return on_grid


def _extracted(asked: Extract, value: object) -> Any:
    match asked.output_type, value:
        case _, None:  # the record does not hold it
            return None
        case "boolean", bool():
            return value
        case "number", int() | float() if not isinstance(value, bool) and isfinite(value):
            return value
        case "text", str() if value.strip():
            return _storable(value.strip())
        case "enum", str():
            if value in (asked.enum_values or ()):
                return value
            raise InvalidParameters(f"{value!r} is none of {', '.join(asked.enum_values or ())}")
    raise InvalidParameters(f"{value!r} is no {asked.output_type}; None says that the record does not hold it")


def _fields(asked: ExtractFields, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidParameters(
            "the fields are an object: a value for each name, null where the record does not hold it"
        )
    names = list(asked.json_schema["properties"])
    unknown = next((name for name in value if name not in names), None)
    if unknown is not None:
        raise InvalidParameters(f"{unknown!r} is no field; the fields are {', '.join(names)}")
    from jsonschema.exceptions import best_match
    from referencing import Registry

    nothing: Registry[Any] = Registry()  # a reference to another place is never fetched
    judge = dialect(asked.json_schema)(nothing_required(asked.json_schema), registry=nothing)
    given = without_nulls(value)
    error = best_match(judge.iter_errors(given))
    if error is not None:
        raise InvalidParameters(f"{'.'.join(str(step) for step in error.absolute_path)}: {error.message[:300]}")
    try:
        to_json(value)
    except ValueError as wrong:
        raise InvalidParameters(f"the fields cannot be kept: {wrong}") from wrong
    return {name: value.get(name) for name in names}


def _storable(text: str) -> str:
    if UNSTORABLE.search(text):
        raise InvalidParameters("the text holds a character that the ledger cannot store")
    return text
