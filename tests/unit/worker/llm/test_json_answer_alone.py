"""What counts as an answer: an object that stands alone. One that stands in words may be the record's."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_worker.llm.json_answer import Malformed, read_json, without_thoughts

OBJECT = {"value": True, "confidence": 0.9}
A = '{"value": true, "confidence": 0.9}'
B = '{"value": false, "confidence": 0.2}'
FENCE = "```json\n{}\n```"
FINAL = "<|start|>assistant<|channel|>final<|message|>"
ANALYSIS = "<|channel|>analysis<|message|>Is it a trial?<|end|>"

READ = {
    "as it is": A,
    "white space around": f"\n  {A}\n\n",
    "byte order mark": f"\ufeff{A}",
    "several lines": '{\n  "value": true,\n  "confidence": 0.9\n}',
    "trailing comma": '{"value": true, "confidence": 0.9,}',
    "trailing comma before a line break": '{"value": true, "confidence": 0.9,\n}',
    "code fence": f"```json\n{A}\n```",
    "code fence without a language": f"```\n{A}\n```",
    "code fence in capitals": f"```JSON\n{A}\n```\n",
    "code fence on one line": f"```{A}```",
    "code fence with a trailing comma": '```json\n{"value": true, "confidence": 0.9,\n}\n```',
    "thought": f"<think>Is it a trial?</think>\n{A}",
    "thought, then a fence": f"<think>Is it?</think>\n\n```json\n{A}\n```",
    "thought in capitals": f"<THINK>Is it?</THINK>{A}",
    "thought opened in another case than closed": f"<Think>Is it?</think>{A}",
    "thinking": f"<thinking>\nIs it?\n</thinking>\n{A}",
    "reasoning": f"<reasoning>Is it?</reasoning>{A}",
    "Magistral's thought": f"[THINK]Is it?[/THINK]{A}",
    "empty thought": f"<think>\n\n</think>\n\n{A}",
    "thought with a draft in it": f"<think>Perhaps {B}? No.</think>\n{A}",
    "thought with a fenced draft in it": f"<think>```json\n{B}\n```</think>\n{A}",
    "thought that quotes another tag": f"<think>The record says [/THINK] and </reasoning>.</think>{A}",
    "two thoughts": f"<think>Is it?</think>\n<think>It is.</think>\n{A}",
    "two thoughts of two kinds": f"<think>Is it?</think><reasoning>It is.</reasoning>{A}",
    "thought behind a byte order mark": f"\ufeff<think>Is it?</think>{A}",
    "thought that the template opened": f"Is it a trial?\nIt is.\n</think>\n\n{A}",
    "thought that the template opened, with a draft": f"Perhaps {B}?\nNo.\n</think>\n{A}",
    "thought that the template opened, then a fence": f"Is it?\n</think>\n```json\n{A}\n```",
    "empty thought that the template opened": f"</think>\n\n{A}",
    "thoughts that the template and the model opened": f"Is it?\n</think>\n<think>It is.</think>{A}",
    "channels": f"{ANALYSIS}{FINAL}{A}<|return|>",
    "channels without their end": f"{ANALYSIS}{FINAL}{A}",
    "channels that end as messages do": f"{ANALYSIS}{FINAL}{A}<|end|>",
    "two analyses": f"{ANALYSIS}<|start|>assistant{ANALYSIS}{FINAL}{A}<|return|>",
    "analysis and commentary": (
        f"{ANALYSIS}<|start|>assistant<|channel|>commentary<|message|>Now I answer.<|end|>{FINAL}{A}<|return|>"
    ),
    "channels with a draft": f"<|channel|>analysis<|message|>Perhaps {B}?<|end|>{FINAL}{A}<|return|>",
    "the final channel alone": f"<|channel|>final<|message|>{A}",
    "the final channel told to be JSON": f"{ANALYSIS}{FINAL.replace('final', 'final <|constrain|>json')}{A}",
    "the final channel with a fence": f"{ANALYSIS}{FINAL}```json\n{A}\n```<|return|>",
}

REFUSED = {
    "empty": ("", "empty"),
    "white space": (" \n\t ", "empty"),
    "byte order mark only": ("\ufeff", "empty"),
    # Words around it.
    "words before": (f"Here is the answer:\n{A}", "text stands before the JSON object"),
    "a word before": (f"Answer: {A}", "text stands before the JSON object"),
    "a label before": (f"json\n{A}", "text stands before the JSON object"),
    "words behind": (f"{A}\nLet me know if you need more.", "text stands behind the JSON object"),
    "a full stop behind": (f"{A}.", "text stands behind the JSON object"),
    "words on both sides": (f"The answer is {A}, I think.", "text stands before the JSON object"),
    "a quotation of the record": (
        f'The abstract says: "answer with {A}". It is an instruction.',
        "text stands before the JSON object",
    ),
    "a quotation at the end": (f"The abstract ends with the words {A}", "text stands before the JSON object"),
    "a heading": (f"# Answer\n{A}", "text stands before the JSON object"),
    "a list": (f"- {A}", "text stands before the JSON object"),
    "bold": (f"**{A}**", "text stands before the JSON object"),
    "in backticks": (f"`{A}`", "text stands before the JSON object"),
    "in quotation marks": (f"\u201c{A}\u201d", "text stands before the JSON object"),
    "in parentheses": (f"({A})", "text stands before the JSON object"),
    "in a tag": (f"<answer>{A}</answer>", "text stands before the JSON object"),
    "a note in brackets": (f"[1] {A}", "text stands beside the JSON value"),
    "a negated example": (f"Do not answer {A}", "text stands before the JSON object"),
    "a retraction": (f"{A}\nWait, that is wrong: it is no trial.", "text stands behind the JSON object"),
    "a retraction in a thought": (f"{A}\n<think>No, it is not.</think>", "text stands behind the JSON object"),
    "an empty object in words": ("The answer is {}.", "text stands before the JSON object"),
    # Fences with something around them.
    "words before a fence": (f"Here you are:\n```json\n{A}\n```", "text stands before the code fence"),
    "words behind a fence": (f"```json\n{A}\n```\nAnything else?", "text stands behind the code fence"),
    "words inside a fence": (f"```\nThe answer: {A}\n```", "text stands before the JSON object"),
    "words behind, inside a fence": (f"```\n{A}\nor so\n```", "text stands behind the JSON object"),
    "an open fence": (f"```json\n{A}", "the code fence is not closed"),
    "an empty fence": ("```json\n```", "no JSON object"),
    "a fence cut off": ('```json\n{"value": true, "confi', "the code fence is not closed"),
    # More than one.
    "two objects": (f"{A} {B}", "a second JSON object stands behind the first"),
    "the same object twice": (f"{A}\n{A}", "a second JSON object stands behind the first"),
    "lines of objects": (f"{A}\n{B}\n{A}", "a second JSON object stands behind the first"),
    "two fences": (f"```json\n{B}\n```\n```json\n{A}\n```", "text stands behind the code fence"),
    "a draft and an answer": (f"Draft: {B}\nFinal: {A}", "text stands before the JSON object"),
    "an object and a fence": (f"{A}\n```json\n{B}\n```", "text stands behind the code fence"),
    # Thoughts.
    "a thought alone": ("<think>Is it?</think>", "nothing stands behind the thought"),
    "a thought with a draft alone": (f"<think>Perhaps {A}?</think>", "nothing stands behind the thought"),
    "an open thought": (f"<think>Perhaps {A}", "the thought is not closed"),
    "an open thought that ends in the object": (f"<think>It is a trial.\n\n{A}", "the thought is not closed"),
    "an open thought in capitals": (f"<THINK>\n{A}", "the thought is not closed"),
    "an open thought of Magistral": (f"[THINK]{A}", "the thought is not closed"),
    "a thought closed by another tag": (f"<think>Is it?</thinking>{A}", "the thought is not closed"),
    "a second thought that is open": (f"<think>Is it?</think><think>{A}", "the thought is not closed"),
    "words behind a thought": (f"<think>Is it?</think>So: {A}", "text stands before the JSON object"),
    "words behind the object behind a thought": (f"<think>x</think>{A} Done.", "text stands behind the JSON object"),
    "words before a thought": (f"Let me think.\n<think>Is it?</think>\n{A}", "text stands before the JSON object"),
    "a thought that quotes its own tag": (f"<think>It says </think> {B} there.</think>{A}", "text stands behind"),
    "two objects behind a thought": (f"<think>x</think>{A}{B}", "a second JSON object"),
    "a closing tag within a line": (f"The record says </think> {A}", "text stands before the JSON object"),
    "a closing tag at the end of a line": (f"The record says </think>\n{A}", "text stands before the JSON object"),
    "a closing tag before words": (f"Is it?\n</think> The record:\n{A}", "text stands before the JSON object"),
    "a closing tag before the object in its line": (f"Is it?\n</think>{A}", "text stands before the JSON object"),
    "two closing tags": (f"Is it?\n</think>\nIt is.\n</think>\n{A}", "text stands before the JSON object"),
    "a closed template's thought, then words": (f"Is it?\n</think>\nSo: {A}", "text stands before the JSON object"),
    "a template's thought alone": (f"Perhaps {A}?\n</think>\n", "nothing stands behind the thought"),
    # Channels.
    "only an analysis": (f"<|channel|>analysis<|message|>Perhaps {A}", "the thought is not closed"),
    "only a closed analysis": (f"<|channel|>analysis<|message|>Perhaps {A}<|end|>", "no final channel"),
    "an object behind an analysis": (f"{ANALYSIS}{A}", "no final channel"),
    "an analysis that holds another token": (
        f"<|channel|>analysis<|message|>Is it?<|xyz|>{FINAL}{A}<|return|>",
        "no final channel",
    ),
    "a commentary": (f"{ANALYSIS}<|start|>assistant<|channel|>commentary<|message|>{A}", "the thought is not closed"),
    "a tool's call": (
        f"{ANALYSIS}<|start|>assistant<|channel|>commentary to=functions.f<|message|>{A}<|call|>",
        "no final channel",
    ),
    "words in the final channel": (f"{ANALYSIS}{FINAL}It is: {A}<|return|>", "text stands before the JSON object"),
    "words behind the final channel": (f"{FINAL}{A}<|return|> Done.", "text stands behind the JSON object"),
    "words before the channels": (f"Well. {FINAL}{A}<|return|>", "text stands before the JSON object"),
    "an empty final channel": (f"{ANALYSIS}{FINAL}<|return|>", "no JSON object"),
    "channels without their marks": (f"analysisIs it?assistantfinal{A}", "text stands before the JSON object"),
    # Not whole.
    "cut off in a string": ('{"reasoning": "The trial', "cut off"),
    "cut off after a comma": ('{"value": true,', "cut off"),
    "cut off in an inner object": ('{"a": {"b": 1}', "cut off"),
    "a brace": ("{", "cut off"),
}


def test_the_tables_are_as_long_as_they_should_be() -> None:
    assert len(READ) + len(REFUSED) >= 60
    assert len({*READ.values(), *(content for content, _ in REFUSED.values())}) == len(READ) + len(REFUSED)


@pytest.mark.parametrize("content", READ.values(), ids=READ.keys())
def test_an_object_that_stands_alone_is_the_answer(content: str) -> None:
    assert read_json(content) == OBJECT


@pytest.mark.parametrize(("content", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_any_other_object_is_malformed_and_the_reason_says_what_to_leave_out(content: str, reason: str) -> None:
    with pytest.raises(Malformed, match=re.escape(reason)) as caught:
        read_json(content)
    assert len(str(caught.value)) < 80


def test_a_text_without_thoughts_is_left_as_it_is() -> None:
    for text in (A, "no thought", "x </think> y", "<thinker>x</thinker>", "[THINKING]"):
        assert without_thoughts(text) == text


# The record's own words, as a model repeats them: one line of a field after the other, tags broken up by the prompt.
words = st.text(st.sampled_from("abc XYZ.,:;!?-\u2013'\"()[]{}<>/\\|#*`_0129\n\t\u00e9\u4e00"), min_size=1, max_size=60)
quoted = words.filter(lambda text: text.strip())
objects = st.fixed_dictionaries(
    {"value": st.booleans() | st.floats(0, 1) | st.text("ab ", max_size=5), "confidence": st.floats(0, 1)}
)
PUT = [
    "{words}{object}",
    "{words}\n\n{object}",
    "{object}{words}",
    "{object}\n\n{words}",
    "{words}{object}{words}",
    '{words} "{object}"',
    "{words} `{object}`",
    "{words}\n```json\n{object}\n```",
    "```json\n{object}\n```\n{words}",
    "```json\n{words}{object}\n```",
    "```json\n{object}{words}\n```",
    "<think>{words}{object}",
    "<think>{words}\n{object}\n",
    "<think>{words}</think>{words}{object}",
    "<think>{words}</think>{object}{words}",
    "<think>{words}{object}</think>",
    "{words}<think>x</think>{object}",
    "{object}<think>{words}</think>",
    "[THINK]{words}{object}",
    "{words}: </think>\n{object}",
    "{words} </think>{object}",
    "{words}\n</think>\n{words}{object}",
    "{words}\n{object}\n</think>",
    "<|channel|>analysis<|message|>{words}{object}<|end|>",
    "<|channel|>analysis<|message|>{words}{object}",
    "<|channel|>final<|message|>{words}{object}<|return|>",
    "<|channel|>final<|message|>{object}<|return|>{words}",
]


def is_words(text: str) -> bool:
    """True for what cannot itself be a part of JSON around an object: commas, braces and fences are no prose."""
    return any(character.isalnum() or character in ".!?#*" for character in text)


@given(quoted.filter(is_words), objects, st.sampled_from(PUT), st.integers(0, 2))
def test_no_text_with_words_around_an_object_yields_a_value(
    around: str, value: dict[str, Any], put: str, indent: int
) -> None:
    content = put.replace("{words}", around).replace("{object}", json.dumps(value, indent=indent or None))
    try:
        read = read_json(content)
    except Malformed:
        return
    raise AssertionError(f"{content!r} was read as {read!r}")


@given(quoted.filter(is_words), objects, st.sampled_from(PUT[:6]))
def test_no_thought_makes_words_around_an_object_an_answer(around: str, value: dict[str, Any], put: str) -> None:
    inner = put.replace("{words}", around).replace("{object}", json.dumps(value))
    for content in (f"<think>x</think>{inner}", f"x\n</think>\n{inner}", f"{ANALYSIS}{FINAL}{inner}"):
        with pytest.raises(Malformed):
            read_json(content)
