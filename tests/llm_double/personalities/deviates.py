"""Deviates from the schema as models do that are not bound to it, without harm: every word of the answer is there."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from .. import answers
from ..asked import Asked, Schema
from ..strictness import follows
from .behaviour import Behaviour, Shape

Change: TypeAlias = Callable[[Any, Schema], Any]


@dataclass(frozen=True)
class Deviates(Behaviour):
    """Some of the harmless deviations, in the order in which they stand below; without `ways` all of them.

    It does so even where the endpoint says that it enforces the schema. Raises ValueError for a way that is none.
    """

    ways: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = [way for way in self.ways if way not in WAYS]
        if unknown:
            raise ValueError(f"nobody deviates by {unknown[0]!r}; there are {', '.join(WAYS)}")

    def value(self, asked: Asked, value: Any, shape: Shape) -> Any:
        """The value, deviating."""
        schema = shape.shown or {}
        scalars = [_OF_SCALARS[way] for way in _OF_SCALARS if self._goes(way)]

        def changed(scalar: Any, part: Schema) -> Any:
            for change in scalars:
                scalar = change(scalar, part)
            return scalar

        # In one go: a scalar that has been changed once follows its schema no longer.
        value = _walk(value, schema, schema, changed)
        for way, change in _OF_OBJECTS.items():
            value = change(value) if self._goes(way) else value
        return value

    def _goes(self, way: str) -> bool:
        return not self.ways or way in self.ways


def _walk(value: Any, schema: Schema, root: Schema, change: Change) -> Any:
    part = _part_followed(value, schema, root)
    match value:
        case dict():
            known = part.get("properties", {})
            return {name: _walk(inner, known.get(name, {}), root, change) for name, inner in value.items()}
        case list():
            return [_walk(inner, part.get("items", {}), root, change) for inner in value]
        case _:
            return change(value, part)


def _part_followed(value: Any, schema: Schema, root: Schema) -> Schema:
    """The schema with its reference followed, and of several the one that the value follows."""
    if "$ref" in schema:
        return _part_followed(value, answers.resolve(schema["$ref"], root), root)
    for union in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(union, ()):
            if follows(value, {**part, "$defs": root.get("$defs", {})}):
                return _part_followed(value, part, root)
    return schema


def _number_as_text(value: Any, schema: Schema) -> Any:
    return json.dumps(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _boolean_as_text(value: Any, schema: Schema) -> Any:
    return json.dumps(value) if isinstance(value, bool) else value


def _other_case(value: Any, schema: Schema) -> Any:
    """`rct` for RCT, `Include` for include."""
    if not _is_listed(value, schema):
        return value
    return value.lower() if value != value.lower() else value.capitalize()


def _underscored(value: Any, schema: Schema) -> Any:
    return value.replace(" ", "_") if _is_listed(value, schema) else value


def _spaced(value: Any, schema: Schema) -> Any:
    return f" {value} " if _is_listed(value, schema) else value


def _is_listed(value: Any, schema: Schema) -> bool:
    return isinstance(value, str) and ("enum" in schema or "const" in schema)


def _other_case_of_keys(value: Any) -> Any:
    match value:
        case dict():
            return {name[:1].upper() + name[1:]: _other_case_of_keys(part) for name, part in value.items()}
        case list():
            return [_other_case_of_keys(part) for part in value]
        case _:
            return value


def _with_extra_key(value: Any) -> Any:
    return {**value, "note": "see the abstract"} if isinstance(value, dict) else value


_OF_SCALARS: Mapping[str, Change] = {
    "other_case": _other_case,
    "underscored": _underscored,
    "spaced": _spaced,
    "number_as_text": _number_as_text,
    "boolean_as_text": _boolean_as_text,
}
# Keys first, what lies around the object last: so that all of them can be had together.
_OF_OBJECTS: Mapping[str, Callable[[Any], Any]] = {
    "extra_key": _with_extra_key,
    "other_case_of_keys": _other_case_of_keys,
    "wrapped": lambda value: {"answer": value},
    "in_array": lambda value: [value],
}
WAYS = (*_OF_SCALARS, *_OF_OBJECTS)
