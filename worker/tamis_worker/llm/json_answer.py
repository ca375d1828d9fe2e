"""The JSON object in what a model wrote.

Read as strictly as possible, and as tolerantly as models make necessary: code fences, prose around the object, a
`<think>` part before it, trailing commas, line breaks inside strings. What is ambiguous is not guessed at.
"""

import json
import re
from dataclasses import dataclass
from math import isfinite
from typing import Any, NoReturn

from tamis_schemas.unstorable import UNSTORABLE

MAX_CHARACTERS = 1_000_000  # of one answer; token budgets end long before
MAX_BRACES = 1_000  # places looked at in one content

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCED = re.compile(r"\A```[a-zA-Z]*\s(.*)```\Z", re.DOTALL)
# A string that is never closed reaches to the end: so every quote is looked at once, whatever follows.
_STRING = r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)'
_STRING_OR_BRACE = re.compile(_STRING + r"|[{}\[\]]", re.DOTALL)
_STRING_OR_TRAILING_COMMA = re.compile(rf"({_STRING})|(?<=[\w\"\]}}])\s*,(?=\s*[}}\]])", re.DOTALL)


class Malformed(ValueError):
    """The content holds no JSON value that could be taken for the answer; the message says why, in a few words."""


def read_json(content: str) -> object:
    """The JSON value of an answer.

    A content that is JSON as a whole gives its value, whatever that is; otherwise it must hold exactly one object (the
    same object twice is one).

    Raises:
        Malformed: where there is none, where there are several different ones, where it is cut off, or where it
            holds what no JSON value may: NaN, Infinity, a name twice in an object, half of a surrogate pair, NUL (which
            Postgres cannot store).
    """
    if len(content) > MAX_CHARACTERS:
        raise Malformed(f"longer than {MAX_CHARACTERS} characters")
    text = _THOUGHT.sub("", content.removeprefix("\ufeff")).strip()
    if not text:
        raise Malformed("empty")
    fenced = _FENCED.match(text)
    if fenced and "```" not in fenced[1]:
        text = fenced[1].strip()
    try:
        value = _STRICT.decode(text)
    except json.JSONDecodeError:
        value = _only_object(text)
    except RecursionError:
        raise Malformed("nested too deeply") from None
    _check_text(value)
    return value


@dataclass(frozen=True, slots=True)
class _Read:
    value: object
    end: int


def _only_object(text: str) -> object:
    found: list[object] = []
    place = text.find("{")
    for _ in range(MAX_BRACES):
        if place < 0:
            break
        end = _end_of_object(text, place)
        # Braces without a string are prose: {a, b}, \frac{1}{2}.
        if end is None or '"' in text[place:end] or text[place + 1 : end - 1].isspace():
            read = _read_at(text, place, end)
            if read.value not in found:
                found.append(read.value)
            if len(found) > 1:
                raise Malformed("two different JSON objects")
            end = read.end
        place = text.find("{", end)
    else:
        raise Malformed(f"more than {MAX_BRACES} braces")
    if not found:
        raise Malformed("no JSON object")
    return found[0]


def _read_at(text: str, place: int, end: int | None) -> _Read:
    """The object that begins at a place and whose braces are closed before `end`."""
    try:
        return _Read(*_TOLERANT.raw_decode(text, place))
    except json.JSONDecodeError as error:
        first = error
    except RecursionError:
        raise Malformed("nested too deeply") from None
    if end is None:
        raise Malformed("cut off: a brace is not closed")
    tidied = _STRING_OR_TRAILING_COMMA.sub(lambda match: match[1] or "", text[place:end])
    try:
        return _Read(_TOLERANT.decode(tidied), end)
    except json.JSONDecodeError:
        raise Malformed(f"not JSON: {first.msg} at character {first.pos}") from None


def _end_of_object(text: str, place: int) -> int | None:
    """Where the brace that opens at a place is closed, strings left aside; None where it is not."""
    depth = 0
    for token in _STRING_OR_BRACE.finditer(text, place):
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
    if len(digits) > 300:  # as many as the largest float has; Python itself refuses more than 4,300
        raise Malformed(f"{digits[:40]}... is too large a number")
    return int(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for name, value in pairs:
        if name in names:
            raise Malformed(f"the name {name[:80]!r} stands twice in one object")
        names[name] = value
    return names


_STRICT, _TOLERANT = (
    json.JSONDecoder(
        parse_constant=_constant, parse_float=_float, parse_int=_int, object_pairs_hook=_object, strict=strict
    )
    for strict in (True, False)
)
