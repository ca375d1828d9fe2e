"""What OpenAI's strict mode says of a schema, and whether a value follows one."""

import json
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator

ALLOWED = {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"} | {
    "title",
    "description",
    "$ref",
    "$defs",
}


def objection(schema: dict[str, Any], context: tuple[str, ...] = ()) -> str | None:
    """Why strict mode refuses the schema, in its words; None where it takes it."""
    for keyword in schema:
        if keyword not in ALLOWED:
            return f"In context={context!r}, '{keyword}' is not permitted."
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            return f"In context={context!r}, 'additionalProperties' is required to be supplied and to be false."
        missing = [name for name in properties if name not in schema.get("required", ())]
        if missing:
            return (
                f"In context={context!r}, 'required' is required to be supplied and to be an array including every "
                f"key in properties. Missing '{missing[0]}'."
            )
    for place, part in _parts(schema):
        reason = objection(part, (*context, *place))
        if reason is not None:
            return reason
    return None


def _parts(schema: dict[str, Any]) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    found: list[tuple[tuple[str, ...], dict[str, Any]]] = []
    for group in ("properties", "$defs"):
        found += [((group, name), part) for name, part in schema.get(group, {}).items()]
    if isinstance(schema.get("items"), dict):
        found.append((("items",), schema["items"]))
    found += [(("anyOf", str(n)), part) for n, part in enumerate(schema.get("anyOf", ()))]
    return found


def follows(value: Any, schema: dict[str, Any]) -> bool:
    """Does the value follow the schema, to the letter?"""
    return _validator(json.dumps(schema)).is_valid(value)


@lru_cache(maxsize=64)
def _validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(schema))
