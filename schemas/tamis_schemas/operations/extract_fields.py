"""Extract fields: several values at once, after a JSON schema.

Only a complete schema is accepted: every part has a type, and every object names its properties. References stay within
the schema and form no circle.
"""

import json
from collections.abc import Mapping
from copy import deepcopy
from difflib import get_close_matches
from typing import Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, StrictBool, field_validator, model_validator

from ..errors import InvalidParameters
from ..values.unstorable import to_json
from ..values.words import Words
from ..values.written import under_names
from .field_rules import JsonSchema, checked_schema, dialect, parts
from .kind import OperationKind


class ExtractFields(OperationKind):
    """The values of all properties of a JSON schema, taken from the item. A property that the item lacks is None.

    The argument is named `schema`. The attribute is `json_schema`, because pydantic's models have their own `schema`.
    """

    # With a repeated alias, the text of an input could be endless.
    model_config = ConfigDict(hide_input_in_errors=True)

    report_noun: ClassVar[str] = "extraction of fields"
    reads_chunks: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {
        "schema": {
            "type": "object",
            "properties": {
                "participants": {"type": "integer", "description": "How many were randomised"},
                "design": {"type": "string", "enum": ["RCT", "cohort", "review", "other"]},
                "outcome": {"type": "string", "description": "The main outcome, in a few words"},
            },
            "required": ["participants", "design", "outcome"],
        },
        "instructions": "What the abstract says of the study.",
    }

    operation: Literal["extract_fields"] = "extract_fields"
    json_schema: JsonSchema = Field(alias="schema")
    instructions: Words
    field_instructions: dict[str, Words] | None = None
    include_reasoning: StrictBool = True

    _written = under_names(json_schema="schema")

    @field_validator("json_schema")
    @classmethod
    def _schema(cls, schema: JsonSchema) -> JsonSchema:
        return checked_schema(schema)

    @model_validator(mode="after")
    def _checked(self) -> Self:
        names = list(self.json_schema["properties"])
        for name in self.field_instructions or ():
            if name not in names:
                nearest = get_close_matches(name, names, n=1, cutoff=0.0)[0]
                raise ValueError(f"field_instructions: {name!r} is not a property of schema; did you mean {nearest!r}?")
        return self

    def value_type(self) -> type[dict[str, Any]]:
        """Return the type of the operation's values: an object of fields."""
        return dict

    def checked_value(self, value: object) -> dict[str, Any]:
        """Return the fields that a person entered, with None for the fields that the person left out.

        Raises `InvalidParameters` for values that the schema forbids.
        """
        from jsonschema.exceptions import best_match
        from referencing import Registry

        if not isinstance(value, dict):
            raise InvalidParameters(
                "the fields must be an object: a value for each name, null if the record does not contain it"
            )
        names = list(self.json_schema["properties"])
        unknown = next((name for name in value if name not in names), None)
        if unknown is not None:
            raise InvalidParameters(f"{unknown!r} is not a field; the fields are {', '.join(names)}")
        nothing: Registry[Any] = Registry()  # a reference to another place is never fetched
        judge = dialect(self.json_schema)(nothing_required(self.json_schema), registry=nothing)
        error = best_match(judge.iter_errors(without_nulls(value)))
        if error is not None:
            raise InvalidParameters(f"{'.'.join(str(step) for step in error.absolute_path)}: {error.message[:300]}")
        try:
            to_json(value)
        except ValueError as wrong:
            raise InvalidParameters(f"the fields cannot be stored: {wrong}") from wrong
        return {name: value.get(name) for name in names}

    def value_of_text(self, text: str) -> dict[str, Any]:
        """Return the values that a person typed as a JSON object. Raises `InvalidParameters` for invalid values."""
        try:
            return self.checked_value(json.loads(text))
        except json.JSONDecodeError as error:
            raise InvalidParameters(f"the fields must be one JSON object: {error.msg}") from error

    def result_words(self, value: object, confidence: float) -> str:
        """Return a result in a few words: `5 of 7 fields 0.80`."""
        fields = value if isinstance(value, dict) else {}
        held = sum(field is not None for field in fields.values())
        return f"{held} of {len(self.json_schema['properties'])} fields {confidence:.2f}"


def nothing_required(schema: JsonSchema) -> JsonSchema:
    """Return the schema without `required` in parts that describe values. Conditions such as `if` keep `required`."""
    root = deepcopy(schema)
    queue = [root]
    while queue:
        part = queue.pop()
        part.pop("required", None)
        queue += [inner.schema for inner in parts(part, root)]
    return root


def without_nulls(value: Any) -> Any:
    """Return the value without null properties, at every level; a null in a list stays."""
    match value:
        case dict():
            return {name: without_nulls(part) for name, part in value.items() if part is not None}
        case list():
            return [without_nulls(part) for part in value]
    return value
