"""A JSON object read from a file member by member: of its items no more than one is in memory.

Each value is read by `json` itself, so numbers, doubled names and characters are what they are everywhere else.
"""

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from tamis_schemas import InvalidParameters

WINDOW = 65_536  # bytes
GOES_ON = 2  # characters behind a number that may be its own without more to come: 1e+
BODY = "the body"
_SPACE = re.compile(r"[ \t\n\r]*")
_value = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class Member:
    """A member of the object, or one element of the list that is streamed."""

    name: str
    value: Any
    number: int | None = None  # the element's, from 0; None: it is no element. A list begins with a member of its own


def members(file: IO[bytes], *, streamed: str, longest: int) -> Iterator[Member]:
    """The members of the object that `file` holds from its beginning, in their order.

    A list under the name `streamed` comes as a member with the value None, and then element by element.

    Args:
        file: UTF-8, with a byte order mark or without.
        streamed: the name of the list.
        longest: characters of a value, white space in it included.

    Raises:
        InvalidParameters: it is no JSON, no object, or has a value that is longer; with the place.
    """
    text = _Text(file, longest)
    if text.ahead(BODY) != "{":
        text.value(BODY)
        raise InvalidParameters(f"{BODY}: Input should be a JSON object")
    text.skip()
    comma = False
    while text.ahead(BODY) != "}":
        if comma:
            text.expect(",", BODY)
        if text.ahead(BODY) != '"':
            text.refuse(BODY, "Expecting property name enclosed in double quotes")
        name = text.value(BODY)
        text.expect(":", BODY)
        if name == streamed and text.ahead(name) == "[":
            yield Member(name, None)
            yield from _elements(text, name)
        else:
            yield Member(name, text.value(BODY))
        comma = True
    text.skip()
    if text.ahead(BODY):
        text.refuse(BODY, "Extra data")


def _elements(text: "_Text", name: str) -> Iterator[Member]:
    text.skip()
    number = 0
    while text.ahead(name) != "]":
        if number:
            text.expect(",", f"{name}.{number - 1}")
        yield Member(name, text.value(f"{name}.{number}"), number)
        number += 1
    text.skip()


class _Text:
    """The part of a file of text that is ahead; the part behind is forgotten."""

    def __init__(self, file: IO[bytes], longest: int) -> None:
        file.seek(0)
        self._file = file
        self._longest = longest
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogatepass")
        self._text = ""
        self._at = 0
        self._behind = 0  # characters
        self._ended = False

    def ahead(self, place: str) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(place):
                return ""

    def skip(self) -> None:
        """Go past the character that is ahead."""
        self._at += 1

    def expect(self, character: str, place: str) -> None:
        """Go past this character. Raises `InvalidParameters` where another one is ahead."""
        if self.ahead(place) != character:
            self.refuse(place, f"Expecting '{character}' delimiter")
        self.skip()

    def value(self, place: str) -> Any:
        """The value that is ahead. Raises `InvalidParameters` where there is none."""
        self.ahead(place)
        while True:
            try:
                value, end = _value(self._text, self._at)
            except RecursionError as error:
                raise InvalidParameters(f"{place} is no JSON: {error}") from error
            except json.JSONDecodeError as error:  # it may be half of a value
                message, at = (
                    error.msg,
                    error.pos,
                )  # not the error itself: it keeps the text, until garbage is collected
            except ValueError as error:  # of a number, which may have its point still ahead
                message, at = str(error), self._at
            else:
                if len(self._text) - end > GOES_ON or not self._more(place):
                    self._at = end
                    return value
                continue
            if len(self._text) - self._at > self._longest:
                raise InvalidParameters(f"{place} is longer than {self._longest:,} characters, or no JSON: {message}")
            if not self._more(place):
                self.refuse(place, message, at)

    def refuse(self, place: str, message: str, at: int | None = None) -> None:
        """Raise `InvalidParameters`, with the character of the file, from 0."""
        character = self._behind + (self._at if at is None else at)
        raise InvalidParameters(f"{place} is no JSON: {message} (char {character})")

    def _more(self, place: str) -> bool:
        """Read on, and return whether there was more: as much as is ahead, so that no long value is tried too often."""
        if self._ended:
            return False
        rest = self._text[self._at :]
        part = self._file.read(max(WINDOW, len(rest)))
        self._ended = not part
        try:
            more = self._decoder.decode(part, final=self._ended)
        except UnicodeDecodeError as error:
            raise InvalidParameters(f"{place} is no JSON: {error.reason}") from error
        self._behind += self._at
        self._text, self._at = rest + more, 0
        return True
