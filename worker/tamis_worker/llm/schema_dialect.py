"""JSON schemas in the words that an endpoint takes.

Our schemas say type, object, properties, required, additionalProperties, enum, maxLength, minimum, maximum, array.
What an endpoint does with them differs:

| dialect | for | what is changed |
|---|---|---|
| portable | all strict modes, and first of all | everything outside the common subset is dropped |
| bounded | servers that compile the schema into a grammar (llama.cpp) | a number from 0 to 1 becomes an enum |

The bounds that are dropped still hold: an answer is always validated against the schema itself.
"""

import json
from collections.abc import Callable
from typing import Any

from .chat import Schema

# llama.cpp's grammar ignores minimum and maximum of numbers that are not integers: asked for a confidence, it lets
# 0.95 through, and -1234567890000000.0 too. Two decimals are more than a model's confidence means.
UNIT_INTERVAL = [round(step / 100, 2) for step in range(101)]

PORTABLE = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"}) | {
    "title",
    "description",
    "$ref",
    "$defs",
}


def bounded(schema: Schema) -> Schema:
    """The schema with every bound, written so that grammars obey: a number from 0 to 1 is an enum of hundredths."""
    return _mapped(schema, _as_enum)


def portable(schema: Schema) -> Schema:
    """The schema in the subset that strict modes have in common; it allows all that the schema allows, and more.

    Every object is closed and requires all of its properties: strict modes refuse anything else.
    """
    return _mapped(schema, _as_subset)


def instruction(schema: Schema) -> str:
    """The schema as a sentence, for models whose endpoint takes no schema."""
    return (
        "Answer with one JSON object and nothing else: no code fence, no text before or after it. "
        f"The object must match this JSON schema:\n{json.dumps(schema, ensure_ascii=False, separators=(',', ':'))}"
    )


def _as_enum(schema: Schema) -> Schema:
    unit = schema.get("type") == "number" and schema.get("minimum") == 0 and schema.get("maximum") == 1
    if not unit or "enum" in schema:
        return schema
    kept = {name: value for name, value in schema.items() if name not in ("minimum", "maximum")}
    return {**kept, "enum": list(UNIT_INTERVAL)}


def _as_subset(schema: Schema) -> Schema:
    kept = {name: value for name, value in schema.items() if name in PORTABLE}
    if "properties" in kept or kept.get("type") == "object":
        kept["additionalProperties"] = False
        kept["required"] = list(kept.get("properties", ()))
    return kept


def _mapped(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """The schema changed, and every schema inside it; the schema passed in is not altered."""
    changed = dict(change(schema))
    for keyword in ("properties", "$defs"):
        if keyword in changed:
            changed[keyword] = {name: _part(part, change) for name, part in changed[keyword].items()}
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if keyword in changed:
            changed[keyword] = [_part(part, change) for part in changed[keyword]]
    if "items" in changed:
        changed["items"] = _part(changed["items"], change)
    return changed


def _part(part: Any, change: Callable[[Schema], Schema]) -> Any:
    return _mapped(part, change) if isinstance(part, dict) else part  # True and False are schemas too
