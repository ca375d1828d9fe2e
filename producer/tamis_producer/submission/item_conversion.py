"""Conversion of typed objects to items.

Every field of an object becomes a field of the item. The model sees all fields except `id` and empty fields. If a field
would reveal the answer, pass a dict without this field.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeGuard
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError
from sqlalchemy import Row, inspect
from sqlalchemy.exc import SQLAlchemyError

from tamis_schemas import InvalidParameters
from tamis_schemas.records.record_number import indexed_words

if TYPE_CHECKING:  # the owner of a mapped instance has imported it already
    from sqlalchemy.orm import InstanceState


def to_item_at(index: int, source: object) -> dict[str, Any]:
    """Convert an object to an item. Errors name `index`, the place of the object in a list."""
    try:
        return to_item(source)
    except InvalidParameters as error:
        raise InvalidParameters(f"{indexed_words(index)}: {error}") from error


def to_item(source: object) -> dict[str, Any]:
    """Return the item: a dict of JSON values from a dict, a pydantic model, a dataclass or a SQLAlchemy object.

    An instance of a mapped class gives its columns under the names of its attributes. If the instance has both `id` and
    `pmid`, the item's `id` is `pmid or str(id)`. A row gives its columns. A row of a single instance gives the columns
    of the instance.

    At any depth, dates, times, `Decimal` and `UUID` become text, an enum member its value, and a set a sorted list. NaN
    and infinite floats are kept; the submission refuses them.

    Call this function in the thread of the object's SQLAlchemy session. Raises `InvalidParameters` with the type or the
    field that cannot be converted.
    """
    try:
        item = _object(source, "")
    except RecursionError:
        raise InvalidParameters(f"a {type(source).__name__} is nested too deeply, or contains itself") from None
    if item is None:
        raise InvalidParameters(
            f"a {type(source).__name__} is not an item: pass a dict, pydantic model, dataclass or SQLAlchemy object"
        )
    return item


def _object(source: object, place: str) -> dict[str, Any] | None:
    """Return the object's fields as JSON values; None for an object without fields."""
    # First, as a mapped class may be a dataclass or a pydantic model too: its columns count.
    state = inspect(source, raiseerr=False)
    if _of_an_instance(state):
        return _columns(source, state, place)
    match source:
        case Row():
            only = source[0] if len(source) == 1 else None
            if _of_an_instance(inspect(only, raiseerr=False)):
                return _object(only, place)
            return _mapping(source._mapping, place)
        case Mapping():
            return _mapping(source, place)
        case BaseModel():
            try:
                return source.model_dump(mode="json")
            except PydanticSerializationError as error:
                raise InvalidParameters(f"a {type(source).__name__} cannot be converted to JSON: {error}") from error
    if is_dataclass(source) and not isinstance(source, type):
        return _mapping({field.name: getattr(source, field.name) for field in fields(source)}, place)
    return None


def _of_an_instance(state: Any) -> "TypeGuard[InstanceState[Any]]":
    return bool(getattr(state, "is_instance", False))


def _columns(source: object, state: "InstanceState[Any]", place: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for column in state.mapper.column_attrs:
        try:
            values[column.key] = getattr(source, column.key)
        except SQLAlchemyError as error:
            raise InvalidParameters(
                f"the {column.key!r} of a {type(source).__name__} can no longer be read: convert it while its session "
                "is open, or keep it loaded with expire_on_commit=False"
            ) from error
    if "id" in values and "pmid" in values:
        values["id"] = values["pmid"] or str(values["id"])
    return _mapping(values, place)


def _mapping(source: Mapping[Any, object], place: str) -> dict[str, Any]:
    converted: dict[str, Any] = {}
    for key, value in source.items():
        name = str(key.value if isinstance(key, Enum) else key)
        if name in converted:
            raise InvalidParameters(f"{place}{name}: two fields have this name, one of them not as text")
        converted[name] = json_value(value, f"{place}{name}")
    return converted


def json_value(value: object, place: str) -> Any:
    """Return a JSON value for a Python value. If there is none, raise `InvalidParameters`, which names `place`."""
    match value:
        case Enum():  # before text and numbers: a StrEnum is both
            return json_value(value.value, place)
        case None | bool() | int() | float() | str():
            return value
        case datetime() | date() | time():
            return value.isoformat()
        case UUID() | Decimal():
            return str(value)
        case Integral():  # for example numpy's
            return int(value)
        case Real():
            return float(value)
        case AbstractSet():  # sorted, so that the same item is always the same question
            return sorted(
                (json_value(part, place) for part in value), key=lambda part: (type(part).__name__, repr(part))
            )
    # A row is a tuple, too.
    item = _object(value, f"{place}.")
    if item is not None:
        return item
    if isinstance(value, list | tuple):
        return [json_value(part, f"{place}.{n}") for n, part in enumerate(value)]
    raise InvalidParameters(f"{place}: a {type(value).__name__} is not a JSON value; pass its text or its fields")
