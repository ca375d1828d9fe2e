"""The JSON object of a model's answer.

An object is the answer only if it is alone: by itself, in a single code fence, or after a closed thought. (A thought is
text of the model's reasoning.) An object among other words may be a quotation of the record, a draft, or revoked by the
next sentence. Such an answer is `Malformed`, and the model is asked once more. Unambiguous mistakes in the object are
accepted: trailing commas, line breaks in strings.
"""

import json
import re
from collections import Counter
from math import isfinite
from typing import Any, NoReturn

from tamis_schemas.values.unstorable import UNSTORABLE

_CLOSING = {
    opening: re.compile(re.escape(closing), re.IGNORECASE)
    for opening, closing in (
        ("<think>", "</think>"),
        ("<thinking>", "</thinking>"),
        ("<reasoning>", "</reasoning>"),
        ("[think]", "[/think]"),
    )
}
_OPENING = re.compile("|".join(map(re.escape, _CLOSING)), re.IGNORECASE)
_TAG = re.compile(r"</?(?:think|thinking|reasoning)>|\[/?think\]", re.IGNORECASE)
_NO_SPACE = re.compile(r"\S|\Z")

_CHANNELS = ("<|channel|>", "<|start|>assistant<|channel|>")
_CHANNEL = re.compile(
    r"\s*(?:<\|start\|>assistant)?<\|channel\|>\s*(analysis|commentary|final)\s*"
    r"(?:(?:<\|constrain\|>)?\s*json\s*)?<\|message\|>"
)
_END = "<|end|>"
_ENDS = (_END, "<|return|>")


class Malformed(ValueError):
    """The error of an answer that contains no usable JSON value. The message gives the reason in a few words."""


def without_thoughts(text: str) -> str:
    """Return the part of a text after the model's thoughts (reasoning); the whole text if it begins with no thought.

    Raises:
        Malformed: a thought is not closed, or no text follows it.
    """
    if text.startswith(_CHANNELS):
        return _final_channel(text)
    place = _behind_thought_that_the_template_opened(text)
    while opening := _OPENING.match(text, place):
        closing = _CLOSING[opening[0].lower()].search(text, opening.end())
        if closing is None:
            raise Malformed("the thought is not closed")
        place = _behind_space(text, closing.end())
    if place == len(text):
        raise Malformed("nothing stands behind the thought")
    return text[place:]


def _behind_thought_that_the_template_opened(text: str) -> int:
    """Return the position after a closing thought tag that has no opening tag; 0 if there is none.

    A model's chat template may contain the opening tag. The closing tag must be alone in its line.
    """
    tag = _TAG.search(text)
    if tag is None or tag[0][1] != "/":
        return 0
    before = text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()]
    line_end = text.find("\n", tag.end())
    behind = text[tag.end() : len(text) if line_end < 0 else line_end]
    return 0 if before.strip() or behind.strip() else _behind_space(text, tag.end())


def _final_channel(text: str) -> str:
    """Return the message of the `final` channel in an answer of gpt-oss. Raise `Malformed` without this channel."""
    place = 0
    while channel := _CHANNEL.match(text, place):
        begins = channel.end()
        if channel[1] == "final":
            message = text[begins:]
            ended = next((token for token in _ENDS if message.endswith(token)), "")
            return message.removesuffix(ended).strip()
        ends = text.find("<|", begins)
        if ends < 0:
            raise Malformed("the thought is not closed")
        if not text.startswith(_END, ends):
            break
        place = ends + len(_END)
    raise Malformed("no final channel stands behind the thought")


def _behind_space(text: str, place: int) -> int:
    behind = _NO_SPACE.search(text, place)
    return len(text) if behind is None else behind.start()


__all__ = ["MAX_CHARACTERS", "Malformed", "read_json"]

MAX_CHARACTERS = 1_000_000  # of one answer; token budgets end far below

_FENCED = re.compile(r"```[a-zA-Z]*\s*(.*)```", re.DOTALL)
_OBJECT_BEGINS = re.compile(r'\{\s*["}]')  # braces without a string are prose: {a, b}, \frac{1}{2}
# A string that is never closed extends to the end, so every quote is read only once.
_STRING = r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)'
_STRING_OR_BRACE = re.compile(_STRING + r"|[{}\[\]]", re.DOTALL)
_STRING_OR_TRAILING_COMMA = re.compile(rf"({_STRING})|(?<=[\w\"\]}}])\s*,(?=\s*[}}\]])", re.DOTALL)


def read_json(content: str) -> object:
    """Return the JSON value of an answer. The value may be of any type: operations refuse values other than objects.

    Raises:
        Malformed: there is not exactly one value, or the value is cut off or contains NaN, Infinity, a repeated name,
            half a surrogate pair or NUL.
    """
    if len(content) > MAX_CHARACTERS:
        raise Malformed(f"longer than {MAX_CHARACTERS} characters")
    text = content.removeprefix("\ufeff").strip()
    if not text:
        raise Malformed("empty")
    try:
        value = _value(text)
    except RecursionError:
        raise Malformed("nested too deeply") from None
    if "\\u" in text or UNSTORABLE.search(text):  # without escapes, strings hold only characters of the text
        _check_text(value)
    return value


def _value(text: str) -> object:
    try:
        return _STRICT.decode(text)
    except json.JSONDecodeError:
        bare = _without_fence(without_thoughts(text))
    try:
        return _TOLERANT.decode(bare)
    except json.JSONDecodeError as error:
        first = error
    try:
        return _TOLERANT.decode(_STRING_OR_TRAILING_COMMA.sub(lambda match: match[1] or "", bare))
    except json.JSONDecodeError:
        raise Malformed(_what_is_wrong(bare, first)) from None


def _without_fence(text: str) -> str:
    """Return the inside of the code fence around the text; the text itself if there is no fence.

    Raise `Malformed` if the fence is not closed, or text follows it.
    """
    if not text.startswith("```"):
        return text
    fenced = _FENCED.fullmatch(text)
    if fenced is None:
        closed = "```" in text[3:]
        raise Malformed("text stands behind the code fence" if closed else "cut off: the code fence is not closed")
    return fenced[1].strip()


def _what_is_wrong(text: str, error: json.JSONDecodeError) -> str:
    """Return the reason why a text is not one JSON value, in words that help a model to improve."""
    if not text.startswith(("{", "[")):
        if "```" in text:
            return "text stands before the code fence"
        return "text stands before the JSON object" if _OBJECT_BEGINS.search(text) else "no JSON object"
    end = _end_of_value(text)
    if end is None:
        return "cut off: a brace is not closed"
    rest = text[end:].lstrip()
    if not rest:
        return f"not JSON: {error.msg} at character {error.pos}"
    if rest.startswith("```"):
        return "text stands behind the code fence"
    if text.startswith("["):
        return "text stands beside the JSON value"
    return "a second JSON object stands behind the first" if rest[0] == "{" else "text stands behind the JSON object"


def _end_of_value(text: str) -> int | None:
    """Return the position after the first value's closing brace or bracket; None if the value is not closed."""
    depth = 0
    for token in _STRING_OR_BRACE.finditer(text):
        if token[0] in ("{", "["):
            depth += 1
        elif token[0] in ("}", "]"):
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _check_text(value: object) -> None:
    open_values = [value]
    while open_values:
        match open_values.pop():
            case str(text) if UNSTORABLE.search(text):
                raise Malformed("a string holds NUL or half of a surrogate pair")
            case dict(names):
                open_values += [*names.keys(), *names.values()]
            case list(parts):
                open_values += parts


def _constant(name: str) -> NoReturn:
    raise Malformed(f"{name} is not a JSON number")


def _float(digits: str) -> float:
    value = float(digits)
    if not isfinite(value):
        raise Malformed(f"{digits[:40]} is too large a number")
    return value


def _int(digits: str) -> int:
    if len(digits) > 300:  # about the digits of the largest float; Python refuses more than 4,300
        raise Malformed(f"{digits[:40]}... is too large a number")
    return int(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise Malformed(f"the name {twice[:80]!r} stands twice in one object")
    return names


_STRICT, _TOLERANT = (
    json.JSONDecoder(
        parse_constant=_constant, parse_float=_float, parse_int=_int, object_pairs_hook=_object, strict=strict
    )
    for strict in (True, False)
)
