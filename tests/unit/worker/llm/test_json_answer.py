"""What counts as an answer, and what does not."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_worker.llm.json_answer import MAX_BRACES, MAX_CHARACTERS, Malformed, read_json

OBJECT = {"value": True, "confidence": 0.9}
TEXT = '{"value": true, "confidence": 0.9}'

READ = {
    "as it is": TEXT,
    "white space around": f"\n  {TEXT}\n\n",
    "byte order mark": f"\ufeff{TEXT}",
    "code fence": f"```json\n{TEXT}\n```",
    "code fence without a language": f"```\n{TEXT}\n```",
    "prose before": f"Here is the answer:\n{TEXT}",
    "prose after": f"{TEXT}\nLet me know if you need more.",
    "prose and code fence": f"Here you are:\n\n```json\n{TEXT}\n```\nAnything else?",
    "trailing comma": '{"value": true, "confidence": 0.9,}',
    "trailing comma before a line break": '{"value": true, "confidence": 0.9,\n}',
    "thought before": f'<think>The schema wants {{"value": ...}}, so {{"value": false}}?</think>\n{TEXT}',
    "the same object twice": f"{TEXT}\nSo, again: {TEXT}",
    "braces in prose": f"The set {{a, b}} of \\frac{{1}}{{2}} gives {TEXT}",
    "unclosed quote in prose before": f'The 5" device: {TEXT}',
}


@pytest.mark.parametrize("content", READ.values(), ids=READ.keys())
def test_one_object_is_found_whatever_stands_around_it(content: str) -> None:
    assert read_json(content) == OBJECT


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"a": "x, }"}', {"a": "x, }"}),
        ('so: {"a": "x,}", "b": [1, 2,],}', {"a": "x,}", "b": [1, 2]}),
        ('so: {"a": "he said \\"{\\" twice"}', {"a": 'he said "{" twice'}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": {"b": {"c": [{"d": 1}]}}}', {"a": {"b": {"c": [{"d": 1}]}}}),
        ("{}", {}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        ('{"a": "\\\\u0000"}', {"a": "\\u0000"}),
    ],
)
def test_strings_and_nesting_are_kept_as_they_are(content: str, expected: object) -> None:
    assert read_json(content) == expected


@pytest.mark.parametrize("content", ["true", "[1]", '"include"', "0.9", "null", '```json\n[{"a": 1}]\n```'])
def test_json_that_is_no_object_is_given_as_it_is_for_the_schema_to_refuse(content: str) -> None:
    assert read_json(content) == json.loads(content.strip("`").removeprefix("json"))


MALFORMED = {
    "empty": ("", "empty"),
    "white space": (" \n\t ", "empty"),
    "only a thought": ("<think>hm</think>", "empty"),
    "an empty code fence": ("```json\n```", "no JSON object"),
    "prose": ("The record should be included.", "no JSON object"),
    "prose with braces": ("Use {curly} braces.", "no JSON object"),
    "an unopened object": ('"value": true}', "no JSON object"),
    "a word": ("True", "no JSON object"),
    "cut off in a string": ('{"reasoning": "The trial', "cut off"),
    "cut off after a comma": ('{"value": true,', "cut off"),
    "cut off in an inner object": ('{"a": {"b": 1}', "cut off"),
    "cut off in a code fence": ('```json\n{"value": true, "confi', "cut off"),
    "a brace": ("{", "cut off"),
    "two different objects": ('{"value": true} {"value": false}', "two different JSON objects"),
    "an example before the answer": ('For example {"value": false}. Answer: {"value": true}', "two different"),
    "two code fences": ('```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```', "two different"),
    "NaN": ('{"confidence": NaN}', "NaN is not"),
    "Infinity": ('{"confidence": Infinity}', "Infinity is not"),
    "minus Infinity in prose": ('so {"confidence": -Infinity}', "-Infinity is not"),
    "a float beyond floats": ('{"confidence": 1e999}', "too large"),
    "an integer beyond reason": ('{"n": ' + "9" * 5000 + "}", "too large"),
    "single quotes": ("{'value': True}", "no JSON object"),
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
    "half of a surrogate pair": ('{"a": ["\\ud83d"]}', "surrogate"),
    "half of a surrogate pair in a name": ('{"\\ude00": 1}', "surrogate"),
    "nested too deeply": ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
    "nested too deeply, in prose": ('so {"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    "too many braces": ("{a}" * (MAX_BRACES + 1), "braces"),
    "too long": (" " * (MAX_CHARACTERS + 1), "longer than"),
}


@pytest.mark.parametrize(("content", "reason"), MALFORMED.values(), ids=MALFORMED.keys())
def test_what_is_no_answer_is_malformed_with_a_short_reason(content: str, reason: str) -> None:
    with pytest.raises(Malformed, match=reason) as caught:
        read_json(content)
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize("hostile", ['"' + '\\"' * 400_000, "{" * 900_000, '{"' * 400_000, ", " * 400_000 + '{"a'])
@pytest.mark.timeout(10)
def test_hostile_contents_are_read_in_linear_time(hostile: str) -> None:
    with pytest.raises(Malformed):
        read_json(hostile)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | st.text('ab{}[]",:\\ \n`', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc{}\"'", max_size=4), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text("abc", min_size=1, max_size=4), json_values, min_size=1, max_size=3)


@given(objects, st.sampled_from(["", "Sure. ", "<think>x</think>"]), st.sampled_from(["", " Done."]), st.integers(0, 2))
def test_every_object_comes_back_from_any_wrapping(value: object, before: str, after: str, indent: int) -> None:
    assert read_json(f"{before}{json.dumps(value, indent=indent or None)}{after}") == value


@given(st.text('{}[]",:abc 01\\`\n', max_size=60))
def test_any_text_is_read_or_malformed_and_nothing_else(content: str) -> None:
    with contextlib.suppress(Malformed):
        read_json(content)
