"""How a JSON value is read, and that a hostile text costs no more than a long one."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_worker.llm.json_answer import MAX_CHARACTERS, Malformed, read_json


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"a": "x, }"}', {"a": "x, }"}),
        ('{"a": "x,}", "b": [1, 2,],}', {"a": "x,}", "b": [1, 2]}),
        ('{"a": "he said \\"{\\" twice",}', {"a": 'he said "{" twice'}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": "one\ttab",\n}', {"a": "one\ttab"}),
        ('{"a": {"b": {"c": [{"d": 1}]}}}', {"a": {"b": {"c": [{"d": 1}]}}}),
        ("{}", {}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        ('{"a": "\\\\u0000"}', {"a": "\\u0000"}),
        ('```json\n{"a": "``` in a string"}\n```', {"a": "``` in a string"}),
        ('<think>hm</think>{"a": "</think> and <think>"}', {"a": "</think> and <think>"}),
        ('{"a": "<think>"}', {"a": "<think>"}),
        ('hm\n</think>\n{"a": "</think>",}', {"a": "</think>"}),
    ],
)
def test_strings_and_nesting_are_kept_as_they_are(content: str, expected: object) -> None:
    assert read_json(content) == expected


@pytest.mark.parametrize("content", ["true", "[1]", '"include"', "0.9", "null", '```json\n[{"a": 1}]\n```'])
def test_json_that_is_no_object_is_given_as_it_is_for_the_schema_to_refuse(content: str) -> None:
    assert read_json(content) == json.loads(content.strip("`").removeprefix("json"))


NOT_JSON = {
    "a word": ("True", "no JSON object"),
    "prose": ("The record should be included.", "no JSON object"),
    "prose with braces": ("Use {curly} braces, \\frac{1}{2}.", "no JSON object"),
    "an unopened object": ('"value": true}', "no JSON object"),
    "NaN": ('{"confidence": NaN}', "NaN is not"),
    "Infinity": ('{"confidence": Infinity}', "Infinity is not"),
    "minus Infinity": ('{"confidence": -Infinity}', "-Infinity is not"),
    "a float beyond floats": ('{"confidence": 1e999}', "too large"),
    "an integer beyond reason": ('{"n": ' + "9" * 5000 + "}", "too large"),
    "single quotes": ("{'value': True}", "not JSON"),
    "Python's constants": ('{"value": True}', "not JSON"),
    "names without quotes": ('{value: "yes"}', "not JSON"),
    "a comment": ('{"value": true // sure\n}', "not JSON"),
    "a missing comma": ('{"value": true "confidence": 0.9}', "not JSON"),
    "a missing value": ('{"value": }', "not JSON"),
    "an ellipsis": ('{"value": ...}', "not JSON"),
    "a broken object around a sound one": ('{"a": {"b": 1}, oops}', "not JSON"),
    "brackets that do not match": ('{"a": [1}]', "not JSON"),
    "only commas": ('{"a": [,]}', "not JSON"),
    "a name twice": ('{"value": true, "value": false}', "stands twice"),
    "a name twice, inside": ('{"a": {"b": 1, "b": 1}}', "stands twice"),
    "NUL": ('{"a": "x\\u0000y"}', "NUL"),
    "NUL as it is": ('{"a": "x\x00y"}', "NUL"),
    "half of a surrogate pair as it is": ('{"a": "\ud83d"}', "surrogate"),
    "half of a surrogate pair": ('{"a": ["\\ud83d"]}', "surrogate"),
    "half of a surrogate pair in a name": ('{"\\ude00": 1}', "surrogate"),
    "nested too deeply": ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
    "nested too deeply, with a comma too many": ('{"a": ' + "[" * 100_000 + "]" * 100_000 + ",}", "nested too deeply"),
    "too long": (" " * (MAX_CHARACTERS + 1), "longer than"),
}


@pytest.mark.parametrize(("content", "reason"), NOT_JSON.values(), ids=NOT_JSON.keys())
def test_what_is_no_json_value_is_malformed_with_a_short_reason(content: str, reason: str) -> None:
    with pytest.raises(Malformed, match=reason) as caught:
        read_json(content)
    assert len(str(caught.value)) < 150


HOSTILE = [
    '"' + '\\"' * 400_000,
    "{" * 900_000,
    '{"' * 400_000,
    ", " * 400_000 + '{"a',
    "{ " * 400_000,
    "{" + " " * 900_000,
    "a" + " " * 900_000 + "b",
    "```" * 300_000,
    "```json" + " " * 900_000,
    "```json\n" + "``` " * 200_000 + "x",
    "<think>" * 120_000,
    "<think></think>" * 60_000,
    "<think></thinking>" * 50_000,
    "</think>\n" * 100_000,
    "x\n</think>" + " " * 900_000,
    "[THINK][/THINK]" * 60_000 + "{",
    "<|channel|>analysis<|message|><|end|>" * 25_000,
    "<|channel|>" + " " * 900_000,
    "<|channel|>analysis<|message|>" + "<" * 900_000,
]


@pytest.mark.parametrize("hostile", HOSTILE, ids=[text[:24] for text in HOSTILE])
@pytest.mark.timeout(10)
def test_hostile_contents_are_read_in_linear_time(hostile: str) -> None:
    with pytest.raises(Malformed):
        read_json(hostile)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | st.text('ab{}[]",:\\ \n`<>/', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc{}\"'", max_size=4), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text("abc", min_size=1, max_size=4), json_values, min_size=1, max_size=3)
WRAPPINGS = [
    "{}",
    "\ufeff {}\n",
    "```json\n{}\n```",
    "<think>x</think>{}",
    "[THINK]x[/THINK]\n```\n{}\n```",
    "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
]


@given(objects, st.sampled_from(WRAPPINGS), st.integers(0, 2))
def test_every_object_comes_back_from_what_may_stand_around_it(value: object, wrapping: str, indent: int) -> None:
    assert read_json(wrapping.replace("{}", json.dumps(value, indent=indent or None))) == value


@given(st.text('{}[]",:abc 01\\`\n<>/|', max_size=60))
def test_any_text_is_read_or_malformed_and_nothing_else(content: str) -> None:
    with contextlib.suppress(Malformed):
        read_json(content)
