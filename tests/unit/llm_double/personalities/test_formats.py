"""What becomes of `response_format`."""

import json

import pytest

from llm_double.connection import Response
from llm_double.errors import Problem
from llm_double.personalities.behaviour import Shape
from llm_double.personalities.grammar import Grammar
from llm_double.personalities.refuses_format import AsksForTheWord, FailsItsFormat, RefusesFormat
from stage.asking import SCHEMA, asked

WITH_SCHEMA = asked("x", schema=SCHEMA)
JSON_MODE = asked("x", response_format={"type": "json_object"})
PLAIN = asked("x")


@pytest.mark.parametrize("status", [400, 422, 501])
def test_a_schema_is_refused_with_the_status_and_names_the_format(status: int) -> None:
    said = RefusesFormat(status=status).refusal(WITH_SCHEMA)
    assert said is not None
    assert said.status == status
    body = said.body if isinstance(said, Response) else said.body()
    assert b"response_format" in body


@pytest.mark.parametrize("status", [400, 422, 501])
@pytest.mark.parametrize("every_type", [False, True])
def test_json_mode_is_refused_only_where_every_type_is(status: int, every_type: bool) -> None:
    refuses = RefusesFormat(status=status, every_type=every_type)
    assert (refuses.refusal(JSON_MODE) is not None) is every_type
    assert refuses.refusal(PLAIN) is None


def test_a_422_is_told_as_pydantic_servers_tell_it() -> None:
    said = RefusesFormat(status=422).refusal(WITH_SCHEMA)
    assert isinstance(said, Response)
    (detail,) = json.loads(said.body)["detail"]
    assert detail["loc"] == ["body", "response_format", "type"]


def test_a_status_that_no_server_uses_is_an_error() -> None:
    with pytest.raises(ValueError, match="418"):
        RefusesFormat(status=418)


def test_json_mode_may_need_the_word() -> None:
    assert isinstance(AsksForTheWord().refusal(JSON_MODE), Problem)
    assert AsksForTheWord().refusal(asked("answer in Json", response_format={"type": "json_object"})) is None
    assert AsksForTheWord().refusal(WITH_SCHEMA) is None


def test_a_format_that_fails_is_a_400_that_speaks_of_a_generation() -> None:
    said = FailsItsFormat().refusal(WITH_SCHEMA)
    assert said is not None
    assert (said.status, json.loads(said.body)["error"]["code"]) == (400, "json_validate_failed")
    assert FailsItsFormat().refusal(PLAIN) is None


def test_a_grammar_drops_the_bounds_of_numbers_and_keeps_enums_and_those_of_integers() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "number", "minimum": 0, "maximum": 1},
            "b": {"type": "integer", "minimum": 1, "maximum": 3},
            "c": {"type": "number", "enum": [0.1, 0.2]},
            "d": {"type": "array", "items": {"anyOf": [{"type": "number", "exclusiveMaximum": 1}, {"type": "null"}]}},
        },
    }
    shape = Grammar().shape(PLAIN, Shape(schema, schema))
    assert shape.shown == schema
    assert shape.enforced == {
        "type": "object",
        "properties": {
            "a": {"type": "number"},
            "b": {"type": "integer", "minimum": 1, "maximum": 3},
            "c": {"type": "number", "enum": [0.1, 0.2]},
            "d": {"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "null"}]}},
        },
    }
    assert Grammar().shape(PLAIN, Shape()) == Shape()
