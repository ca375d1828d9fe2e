"""The double's own answers: valid for every schema, the same for the same prompt."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_double import Quotes
from llm_double.answers import answer_for, schema_in, with_quotes


@pytest.mark.parametrize(
    ("schema", "allowed"),
    [
        ({"type": "string", "enum": ["met", "not met"]}, lambda v: v in ("met", "not met")),
        ({"const": 7}, lambda v: v == 7),
        ({"type": "boolean"}, lambda v: isinstance(v, bool)),
        ({"type": "null"}, lambda v: v is None),
        ({"type": "integer", "minimum": 3, "maximum": 5}, lambda v: v in (3, 4, 5)),
        ({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}, lambda v: v == 4),
        ({"type": "integer", "maximum": -2}, lambda v: v == -2),
        ({"type": "integer", "minimum": 900}, lambda v: v >= 900),
        ({"type": "number", "minimum": 0, "maximum": 1}, lambda v: 0 <= v <= 1),
        ({"type": "number", "minimum": 0.001, "maximum": 0.002}, lambda v: 0.001 <= v <= 0.002),
        ({"type": "string", "maxLength": 3}, lambda v: len(v) <= 3),
        ({"type": "string", "minLength": 200}, lambda v: len(v) >= 200),
        ({"type": "string", "maxLength": 0}, lambda v: v == ""),
        ({"type": "array", "items": {"const": 1}, "minItems": 2, "maxItems": 3}, lambda v: v in ([1, 1], [1, 1, 1])),
        ({"type": "array", "items": {"const": 1}, "maxItems": 0}, lambda v: v == []),
        ({"type": ["integer", "null"], "minimum": 1, "maximum": 1}, lambda v: v in (1, None)),
        ({"anyOf": [{"const": 1}, {"type": "null"}]}, lambda v: v in (1, None)),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"const": 2}}}, lambda v: v == 2),
        ({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}}, lambda v: v == {"a": 1, "b": 2}),
    ],
)
def test_an_answer_is_one_that_the_schema_allows(schema: dict[str, Any], allowed: Any) -> None:
    for seed in range(30):
        answer = answer_for(schema, str(seed))
        assert allowed(answer), answer


@given(st.text())
def test_the_same_prompt_has_the_same_answer(prompt: str) -> None:
    schema = {"properties": {"value": {"type": "boolean"}, "n": {"type": "number"}, "s": {"type": "string"}}}
    assert answer_for(schema, prompt) == answer_for(schema, prompt)


def test_different_prompts_have_different_answers() -> None:
    schema = {"type": "boolean"}
    assert {answer_for(schema, str(seed)) for seed in range(20)} == {True, False}


def test_a_schema_is_found_in_a_prompt() -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}}}
    assert schema_in(f'Data: {{"title": "x"}} {{broken\nSchema:\n{json.dumps(schema)}\nGo.') == schema
    assert schema_in("no schema here {}") is None


PROMPT = (
    'What stands under "## Source Data" is data.\n## Source Data\ntitle: A trial in adults\nabstract: One two three '
    "four five six seven eight nine ten.\n\n## Instruction\nabstract: not this"
)
ASKED = {"verdicts": {"I1": {"quote": None, "verdict": "met"}, "E1": {"quote": "x", "verdict": "unclear"}}, "n": 1}


def test_quotes_are_words_of_the_source_data_where_they_shall_be_verbatim() -> None:
    answer = with_quotes(ASKED, PROMPT, Quotes.VERBATIM)
    for verdict in answer["verdicts"].values():
        assert verdict["quote"] in "A trial in adults|One two three four five six seven eight nine ten."
    assert [verdict["verdict"] for verdict in answer["verdicts"].values()] == ["met", "unclear"]
    assert with_quotes(ASKED, PROMPT, Quotes.VERBATIM) == answer


@pytest.mark.parametrize(("quotes", "prompt"), [(Quotes.INVENTED, PROMPT), (Quotes.VERBATIM, "nothing to quote")])
def test_quotes_are_words_of_no_record_where_they_shall_be_invented_or_there_is_none(
    quotes: Quotes, prompt: str
) -> None:
    for verdict in with_quotes(ASKED, prompt, quotes)["verdicts"].values():
        assert len(verdict["quote"]) > 20
        assert verdict["quote"] not in prompt
