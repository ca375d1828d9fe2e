"""What a model writes of its fields, where that is not each of them under its name."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tamis_schemas.values.written import under_names, without_empty


class Question(BaseModel):
    text: str
    examples: list[str] = []
    note: str | None = None

    _written = without_empty("examples")


class Fields(BaseModel):
    model_config = ConfigDict(extra="forbid")

    json_schema: dict[str, Any] = Field(alias="schema")
    words: str = ""

    _written = under_names(json_schema="schema")


def test_a_field_that_holds_nothing_is_left_out_and_only_where_that_is_said() -> None:
    assert Question(text="").model_dump() == {"text": "", "note": None}
    assert Question(text="why", examples=["so"]).model_dump() == {"text": "why", "examples": ["so"], "note": None}
    assert Question(text="why").model_dump_json(exclude_none=True) == '{"text":"why"}'


def test_a_field_is_written_under_its_other_name_in_its_place_and_can_be_read_again() -> None:
    fields = Fields.model_validate({"schema": {"type": "object"}})
    assert fields.model_dump_json() == '{"schema":{"type":"object"},"words":""}'
    assert Fields.model_validate_json(fields.model_dump_json()) == fields
    assert fields.model_dump(by_alias=True) == fields.model_dump()


def test_the_json_schema_of_what_is_written_tells_the_fields() -> None:
    assert list(Question.model_json_schema(mode="serialization")["properties"]) == ["text", "examples", "note"]
    assert list(Fields.model_json_schema(mode="serialization")["properties"]) == ["schema", "words"]
