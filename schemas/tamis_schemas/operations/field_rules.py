"""The rules for a schema of fields, part by part."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from ..values.unstorable import UNSTORABLE

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

JsonSchema: TypeAlias = dict[str, Any]  # any JSON value under any keyword

MAX_DEPTH = 10  # fields inside fields, the limit of strict modes
MAX_CHARACTERS = 50_000  # in a schema as JSON text, which is sent with every item
MAX_PARTS = 1_000  # schemas in a schema, a reference counted with its target
MAX_STEPS = 40  # schemas inside schemas, with references: all traversals are recursive
MAX_NESTING = 100  # levels in the JSON text

_REFERENCE = re.compile(r"#/(\$defs|definitions)/([^/]+)")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "dependencies")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_SINGLE = ("items", "additionalProperties", "additionalItems", "contains", "propertyNames", "not", "if", "then", "else")
_SINGLE_2019 = ("unevaluatedItems", "unevaluatedProperties", "contentSchema")
_SAME_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")


@dataclass(frozen=True, slots=True)
class SubSchema:
    """A schema inside another schema. It describes the outer schema's value, or a field or item of that value."""

    place: str  # path in the schema around it: `properties.size`, `items`, `anyOf.0`, `$ref`
    schema: JsonSchema
    deeper: bool  # True for a field inside a field, False for another form of the same field


def parts(schema: JsonSchema, root: JsonSchema) -> list[SubSchema]:
    """Return the inner schemas that describe a schema's whole value, or the fields and items of this value.

    A schema may have several keywords. The first one in this order is read: `$ref`; `const` or `enum`; `type` (implied
    by `properties` and `items`); `anyOf`; `oneOf`; a single `allOf`. Other keywords are conditions, which can only
    narrow the value down.
    """
    if "$ref" in schema:
        return [SubSchema("$ref", definition(schema["$ref"], root), deeper=False)]
    if "const" in schema or "enum" in schema:
        return []
    if kinds := types(schema):
        below = []
        if "object" in kinds:
            below += [
                SubSchema(f"properties.{name}", part, True) for name, part in schema.get("properties", {}).items()
            ]
        if "array" in kinds and "items" in schema:
            below.append(SubSchema("items", schema["items"], True))
        return below
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return [SubSchema(f"{union}.{n}", part, False) for n, part in enumerate(schema[union])]
    return [SubSchema("allOf.0", part, False) for part in schema["allOf"]] if len(schema.get("allOf", ())) == 1 else []


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of a schema, with each reference expanded."""

    depth: int  # of fields inside fields; 0: no fields
    properties: int


def extent(schema: JsonSchema) -> Extent:
    """Return the depth of a checked schema, and its number of properties."""
    depth = properties = 0
    for visit in _visits(schema):
        depth = max(depth, visit.depth)
        if isinstance(visit.schema, dict) and "object" in types(visit.schema):
            properties += len(visit.schema.get("properties", ()))
    return Extent(depth, properties)


def types(schema: JsonSchema) -> list[str]:
    """Return the JSON types that a schema names, or implies by `properties` or `items`; empty if there are none."""
    named = schema.get("type", [])
    if named:
        return [named] if isinstance(named, str) else list(named)
    return [kind for kind, keyword in (("object", "properties"), ("array", "items")) if keyword in schema]


def definition(reference: str, root: JsonSchema) -> JsonSchema:
    """Return the target of a `$ref`. Raises `ValueError` if the reference names no definition in `root`."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise ValueError(f"$ref {reference!r}: only '#/$defs/name' and '#/definitions/name' are supported")
    name = unquote(match[2]).replace("~1", "/").replace("~0", "~")
    target: JsonSchema | bool | None = root.get(match[1], {}).get(name)
    if target is None or isinstance(target, bool):
        names = ", ".join(root.get(match[1], {})) or "none"
        raise ValueError(f"$ref {reference!r}: there is no such definition; the definitions are: {names[:200]}")
    return target


def dialect(schema: JsonSchema) -> "type[Validator]":
    """Return the validator for the draft in `$schema`, from draft 6 to 2020-12, which is the default.

    Raises `ValueError` for any other draft.
    """
    from .schema_drafts import DRAFTS, LATEST

    if "$schema" not in schema:
        return LATEST
    named = DRAFTS.get(str(schema["$schema"]).removesuffix("#"))
    if named is None:
        raise ValueError(f"$schema {schema['$schema']!r}: is not supported; use draft 6, 7, 2019-09 or 2020-12")
    return named


def checked_schema(draft: JsonSchema) -> JsonSchema:
    """Return a copy of `draft`, if it is a valid schema. Raises `ValueError` with the place and the mistake."""
    from jsonschema.exceptions import SchemaError

    from .schema_pattern import check_patterns

    _check_json(draft)
    text = json.dumps(draft)
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"has {len(text)} characters as JSON; at most {MAX_CHARACTERS} are allowed")
    schema: JsonSchema = json.loads(text)
    if schema.get("type") != "object" or any(keyword in schema for keyword in ("$ref", "const", "enum")):
        raise ValueError('must be of the form {"type": "object", "properties": {"name": {"type": "string"}, ...}}')
    try:
        dialect(schema).check_schema(schema)
    except SchemaError as error:
        place = ".".join(str(step) for step in error.path)
        raise ValueError(f"{place or 'schema'}: {error.message[:200]}") from error
    except (OverflowError, RecursionError) as error:  # Python's patterns have limits of their own
        raise ValueError(f"contains a pattern that is too large: {error}") from error
    check_patterns(schema)
    _check_references(schema)
    for visit in _visits(schema):
        _check_part(visit, schema)
    return schema


def _check_json(draft: JsonSchema) -> None:
    open_values: list[tuple[Any, int]] = [(draft, 0)]
    size = 0
    while open_values:
        value, depth = open_values.pop()
        size += 1
        if depth > MAX_NESTING:
            raise ValueError("is nested too deeply, or contains itself")
        if size > MAX_CHARACTERS:  # each is at least a character of JSON; parts may be shared, as with YAML's aliases
            raise ValueError(f"has more than {MAX_CHARACTERS} characters as JSON")
        match value:
            case dict():
                open_values += [(part, depth + 1) for pair in value.items() for part in pair]
                if not all(isinstance(name, str) for name in value):
                    raise ValueError("contains a name that is not text")
            case list() | tuple():
                open_values += [(part, depth + 1) for part in value]
            case str() if UNSTORABLE.search(value):
                raise ValueError(f"contains NUL or half of a surrogate pair: {value[:40]!r}")
            case float() if not isfinite(value):
                raise ValueError(f"contains {value!r}, which is not a JSON number")
            case str() | int() | float() | None:
                pass
            case _:
                raise ValueError(f"contains {value!r:.80}, which is not a JSON value")


@dataclass(frozen=True, slots=True)
class _Extent:
    """The number of schemas inside a schema, and the depth of their nesting. References are followed."""

    size: int
    height: int


def _check_references(root: JsonSchema) -> None:
    """Raise `ValueError` for references that would never end, or that make a schema too large."""
    extents: dict[str, _Extent] = {}

    def extent(schema: Any, chain: tuple[str, ...], steps: int) -> _Extent:
        if not isinstance(schema, dict):
            return _Extent(1, 1)
        _check_keywords(schema, root)
        below = [extent(part, chain, steps + 1) for part in _subschemas(schema)]
        reference = schema.get("$ref")
        if reference is not None:
            if reference in chain:
                circle = " -> ".join([*chain[chain.index(reference) :], reference])
                raise ValueError(f"$ref {reference!r}: refers to itself ({circle}); write out each level instead")
            if reference not in extents:
                if steps > MAX_STEPS:
                    raise ValueError(f"$ref {reference!r}: is nested in more than {MAX_STEPS} schemas")
                extents[reference] = extent(definition(reference, root), (*chain, reference), steps + 1)
            below.append(extents[reference])
        return _Extent(1 + sum(part.size for part in below), 1 + max((part.height for part in below), default=0))

    named = [part for keyword in ("$defs", "definitions") for part in root.get(keyword, {}).values()]
    for schema in (root, *named):
        whole = extent(schema, (), 0)
        if whole.size > MAX_PARTS:
            raise ValueError(f"has {whole.size} schemas, references included; at most {MAX_PARTS} are allowed")
        if whole.height > MAX_STEPS:
            raise ValueError(f"nests {whole.height} schemas; at most {MAX_STEPS} are allowed")


def _check_keywords(schema: JsonSchema, root: JsonSchema) -> None:
    for keyword in ("$dynamicRef", "$recursiveRef"):
        if keyword in schema:
            raise ValueError(f"{keyword} {schema[keyword]!r}: use $ref to refer to a definition")
    if schema is not root and ("$id" in schema or "$schema" in schema):
        raise ValueError("$id and $schema are allowed only at the top")


def _subschemas(schema: JsonSchema) -> Iterator[Any]:
    """Yield every schema directly inside a schema, including conditions, but not definitions."""
    for keyword in _NAMED:
        yield from (part for part in schema.get(keyword, {}).values() if isinstance(part, dict | bool))
    for keyword in _LISTED:
        yield from schema[keyword] if isinstance(schema.get(keyword), list) else ()
    for keyword in (*_SINGLE, *_SINGLE_2019):
        yield from [schema[keyword]] if isinstance(schema.get(keyword), dict | bool) else ()


@dataclass(frozen=True, slots=True)
class _Visit:
    place: str
    schema: Any
    depth: int


def _visits(root: JsonSchema) -> Iterator[_Visit]:
    """Yield every schema that describes a value, with its place."""
    open_visits = [_Visit("", root, 0)]
    while open_visits:
        visit = open_visits.pop()
        yield visit
        if isinstance(visit.schema, dict):
            open_visits += [
                _Visit(f"{visit.place}.{part.place}".lstrip("."), part.schema, visit.depth + part.deeper)
                for part in reversed(parts(visit.schema, root))
            ]


def _check_part(visit: _Visit, root: JsonSchema) -> None:
    schema, place = visit.schema, visit.place or "schema"
    if visit.depth > MAX_DEPTH:
        raise ValueError(f"{place}: fields are nested more than {MAX_DEPTH} deep")
    if not isinstance(schema, dict) or not (
        types(schema) or parts(schema, root) or "const" in schema or "enum" in schema
    ):
        raise ValueError(f"{place}: has no type; add a type, an enum or an anyOf")
    if "$ref" in schema or "const" in schema or "enum" in schema:
        if "$ref" not in schema and not values(schema):
            raise ValueError(f"{place}: it allows no text, number, boolean or null of its type")
    elif "object" in types(schema) and not schema.get("properties"):
        raise ValueError(
            f"{place}: an object must list its properties; for unknown names, use an array of objects with the "
            "properties 'name' and 'value'"
        )
    elif "array" in types(schema) and (not isinstance(schema.get("items"), dict) or "prefixItems" in schema):
        raise ValueError(f"{place}: an array needs one schema for all items in 'items', and no prefixItems")
    missing = _named(schema, root) - _asked(schema, root)
    if missing:
        raise ValueError(f"{place}: {min(missing)!r} is required, or used in a condition, but is not a property")


def values(schema: JsonSchema) -> list[str | bool | int | float | None]:
    """Return the values of `const` or `enum` that have the schema's own type, without objects and arrays."""
    from .schema_drafts import LATEST

    listed = [schema["const"]] if "const" in schema else schema.get("enum", [])
    kinds = schema.get("type", [])
    return [
        value
        for value in listed
        if not isinstance(value, dict | list) and (not kinds or LATEST({"type": kinds}).is_valid(value))
    ]


def _named(schema: Any, root: JsonSchema) -> set[str]:
    """Return the names of the properties that a schema mentions at its top level, also in conditions."""
    if not isinstance(schema, dict):
        return set()
    names = {*schema.get("properties", ()), *schema.get("required", ())}
    if "$ref" in schema:
        names |= _named(definition(schema["$ref"], root), root)
    for keyword in _SAME_PLACE:
        inner = schema.get(keyword, ())
        listed = inner if isinstance(inner, list) else [inner]
        if keyword in ("dependentSchemas", "dependencies"):
            listed = list(inner.values()) if inner else []
        for part in listed:
            names |= _named(part, root)
    return names


def _asked(schema: Any, root: JsonSchema) -> set[str]:
    """Return the names of the properties that a schema describes at its top level, not inside properties or items."""
    if not isinstance(schema, dict):
        return set()
    names: set[str] = set()
    for part in parts(schema, root):
        if not part.deeper:
            names |= _asked(part.schema, root)
        elif part.place != "items":
            names.add(part.place.removeprefix("properties."))
    return names
