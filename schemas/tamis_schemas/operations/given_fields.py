"""Values for the fields of a schema: null says that the record does not hold one, required or not."""

from copy import deepcopy
from typing import Any

from .field_rules import JsonSchema, parts


def nothing_required(schema: JsonSchema) -> JsonSchema:
    """The schema without `required` wherever a property is asked for; in conditions it stays."""
    root = deepcopy(schema)
    left = [root]
    while left:
        part = left.pop()
        part.pop("required", None)
        left += [inner.schema for inner in parts(part, root)]
    return root


def without_nulls(value: Any) -> Any:
    """The value without the properties that are null, at every level; a null in a list stays."""
    match value:
        case dict():
            return {name: without_nulls(part) for name, part in value.items() if part is not None}
        case list():
            return [without_nulls(part) for part in value]
    return value
