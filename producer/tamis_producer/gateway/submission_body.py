"""The body of a submission: one JSON object, or NDJSON with the terms of the batch in its first line."""

import codecs
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from itertools import count
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated, Any

from fastapi import HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict
from starlette.requests import ClientDisconnect

from tamis_schemas import NO_STEERING, Callback, InvalidParameters, Priority, Steering
from tamis_schemas.operations import NamedOperation, validated

from ..config.settings import ProducerSettings
from ..process.waiting import BesideLoop
from ..submission.bounds import SubmissionBounds
from ..submission.budget import MOST, amount_of
from .frame import MOST_VALUES, ValueCount

NDJSON = "application/x-ndjson"
ITEMS = "items"
IN_MEMORY = 131_072  # bytes of a body in memory; a longer one goes to disk in such parts
LONGEST_ESCAPE = 6  # characters: \\u0041
SPACE = 65_536  # characters

Dollars = Annotated[
    Decimal,
    BeforeValidator(amount_of),
    WithJsonSchema({"type": "number", "minimum": 0, "exclusiveMaximum": float(MOST)}),
]

EXAMPLE_TERMS: JsonDict = {
    "operation": {"operation": "filter", "criteria": "Is this about oncology?"},
    "label": "spring update",
}
EXAMPLE_ITEM: JsonDict = {"id": "31", "title": "A trial of something", "abstract": "Methods: ..."}
EXAMPLE: JsonDict = {**EXAMPLE_TERMS, "items": [EXAMPLE_ITEM]}
EXAMPLE_LINES = f"{json.dumps(EXAMPLE_TERMS)}\n{json.dumps(EXAMPLE_ITEM)}\n"
WINDOW = 65_536  # bytes
GOES_ON = 2  # characters after the digits of a number that may still belong to the number: 1e+
BODY = "the body"
_SPACE = re.compile(r"[ \t\n\r]*")
_value = json.JSONDecoder().raw_decode


class Terms(BaseModel):
    """A new batch without its items: operation, model, priority, budget and other options."""

    model_config = ConfigDict(extra="forbid")

    operation: NamedOperation = Field(description="The operation's name and parameters.")
    model: str | None = Field(default=None, description="None: the model of the settings, else the workers' model.")
    label: str | None = Field(default=None, max_length=500, description="The batch's name for people.")
    use_cache: bool = Field(default=True, strict=True)
    priority: Priority = Priority.NORMAL
    max_cost: Dollars | None = Field(default=None, description="Dollars; None: no budget.")
    callback: Callback | None = Field(default=None, description="The receiver of its events; None: the key's callback.")
    steering: Steering = Field(default=NO_STEERING, description="Overrides the workers' settings.")


class Submission(Terms):
    """A new batch."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    items: list[dict[str, Any]]


@asynccontextmanager
async def read_submission(request: Request, settings: ProducerSettings) -> AsyncIterator[tuple[Terms, Iterator[Any]]]:
    """Yield the terms of the requested batch, and an iterator over its items.

    Use the iterator on a thread, inside `with`. The members of the body may have any order. A slow sender delays only
    this request, and occupies neither a thread nor a connection to the ledger.

    Raises:
        HTTPException: 413 for more than TAMIS_MAX_FILE_BYTES, 415 for another media type.
        InvalidParameters: the content is invalid; the message names the line or field. The iterator raises it for an
            invalid item.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", NDJSON):
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send a batch as application/json or {NDJSON}")
    with SpooledTemporaryFile(IN_MEMORY) as body:
        size = await _keep(request, body, largest=settings.max_file_bytes)
        read = _of_lines if kind == NDJSON else _of_object
        async with request.app.state.large_bodies.turn(request, size):
            yield await run_in_threadpool(read, body, SubmissionBounds.of(settings))


async def _keep(request: Request, body: IO[bytes], *, largest: int) -> int:
    """Write a request's body to a file, on threads, in large parts. Return the body's size in bytes."""
    size, parts = 0, bytearray()
    try:
        async for part in request.stream():
            size += len(part)
            if size > largest:
                raise HTTPException(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    f"a batch may have at most {largest:,} bytes (TAMIS_MAX_FILE_BYTES): split it",
                )
            parts += part
            if len(parts) >= IN_MEMORY:
                await run_in_threadpool(body.write, parts)
                parts = bytearray()
    except ClientDisconnect as error:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the body is incomplete") from error
    await run_in_threadpool(body.write, parts)
    return size


def _of_object(body: IO[bytes], bounds: SubmissionBounds) -> tuple[Terms, Iterator[Any]]:
    """Return a batch's terms and an iterator over its items. Terms may follow items, so the body is read twice."""
    longest, terms, items = _longest(bounds), dict[str, Any](), False
    for member in BesideLoop().in_turns(members(body, streamed=ITEMS, longest=longest)):
        if member.number is not None:
            bounds.check_count(member.number + 1)
        elif member.name != ITEMS:
            terms[member.name] = member.value
        elif items:
            raise InvalidParameters(f"{ITEMS}: given twice")
        else:
            items = member.value is None
            terms[ITEMS] = [] if items else member.value
    return validated(Submission, terms, ""), _elements(body, longest)


def _elements(body: IO[bytes], longest: int) -> Iterator[dict[str, Any]]:
    for member in members(body, streamed=ITEMS, longest=longest):
        if member.number is None:
            continue
        if not isinstance(member.value, dict):
            raise InvalidParameters(f"{ITEMS}.{member.number}: Input should be a valid dictionary")
        yield member.value


def _of_lines(body: IO[bytes], bounds: SubmissionBounds) -> tuple[Terms, Iterator[Any]]:
    body.seek(0)
    lines = _lines(body, _longest(bounds))
    number, first = next(lines, (1, b""))
    return validated(Terms, decoded(first, f"line {number}"), f"line {number}: "), _items(lines)


def _lines(body: IO[bytes], longest: int) -> Iterator[tuple[int, bytes]]:
    for number in count(1):
        line = body.readline(longest + 1)
        if not line:
            return
        if len(line) > longest:
            raise InvalidParameters(f"line {number}: longer than {longest:,} bytes")
        if line.strip():
            yield number, line.rstrip(b"\n")


def _items(lines: Iterator[tuple[int, bytes]]) -> Iterator[dict[str, Any]]:
    for number, line in lines:
        item = decoded(line, f"line {number}")
        if not isinstance(item, dict):
            raise InvalidParameters(f"line {number}: an item must be a JSON object")
        yield item


def _longest(bounds: SubmissionBounds) -> int:
    """Return the most characters of an item, or of a batch's terms, as JSON, even if every character is escaped."""
    return LONGEST_ESCAPE * max(bounds.max_item_bytes, bounds.max_parameter_bytes) + SPACE


def decoded(text: bytes | str, place: str) -> Any:
    """Return the JSON value of a text. If the text is not JSON, raise `InvalidParameters`, which names `place`.

    Raises `HTTPException` (413) if the text has too many values.
    """
    _check_values(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidParameters(f"{place} is not JSON: {error}") from error


def _check_values(text: bytes | str) -> None:
    if len(text) > MOST_VALUES:  # a shorter text cannot have as many
        ValueCount().add(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)


@dataclass(frozen=True)
class Member:
    """A member of a JSON object, or an element of the streamed list."""

    name: str
    value: Any
    number: int | None = None  # of the element, from 0; None: a member, not an element


def members(file: IO[bytes], *, streamed: str, longest: int) -> Iterator[Member]:
    """Yield the members of the object in `file`, in order. Only one member is in memory at a time.

    The list named `streamed` is yielded as a member with the value None; its elements follow, one by one.

    Args:
        file: UTF-8, with or without a byte order mark; read from its beginning.
        streamed: the name of the list.
        longest: most characters of a value, including white space.

    Raises:
        InvalidParameters: the text is not a JSON object, or a value is too long; the message names the place.
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
            yield from _of_list(text, name)
        else:
            yield Member(name, text.value(BODY))
        comma = True
    text.skip()
    if text.ahead(BODY):
        text.refuse(BODY, "Extra data")


def _of_list(text: "_Text", name: str) -> Iterator[Member]:
    text.skip()
    number = 0
    while text.ahead(name) != "]":
        if number:
            text.expect(",", f"{name}.{number - 1}")
        yield Member(name, text.value(f"{name}.{number}"), number)
        number += 1
    text.skip()


class _Text:
    """The unread rest of a file, as text. Text that has been read is dropped."""

    def __init__(self, file: IO[bytes], longest: int) -> None:
        file.seek(0)
        self._file = file
        self._longest = longest
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogatepass")
        self._text = ""
        self._at = 0
        self._behind = 0  # characters that were read and dropped
        self._ended = False

    def ahead(self, place: str) -> str:
        """Return the next character other than white space, or an empty text at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(place):
                return ""

    def skip(self) -> None:
        """Skip the next character."""
        self._at += 1

    def expect(self, character: str, place: str) -> None:
        """Skip this character. Raises `InvalidParameters` if another character comes next."""
        if self.ahead(place) != character:
            self.refuse(place, f"Expecting '{character}' delimiter")
        self.skip()

    def value(self, place: str) -> Any:
        """Return the next value. Raises `InvalidParameters` if there is none."""
        self.ahead(place)
        while True:
            try:
                value, end = _value(self._text, self._at)
            except RecursionError as error:
                raise InvalidParameters(f"{place} is not JSON: {error}") from error
            except json.JSONDecodeError as error:  # the text may end within the value
                # Not the error itself, which keeps the text until garbage collection.
                message, at = error.msg, error.pos
            except ValueError as error:  # for a whole number with too many digits, whose decimal point may come later
                message, at = str(error), self._at
            else:
                if len(self._text) - end > GOES_ON or not self._more(place):
                    self._at = end
                    return value
                continue
            _check_values(self._text[self._at :])
            if len(self._text) - self._at > self._longest:
                raise InvalidParameters(f"{place} is longer than {self._longest:,} characters, or not JSON: {message}")
            if not self._more(place):
                self.refuse(place, message, at)

    def refuse(self, place: str, message: str, at: int | None = None) -> None:
        """Raise `InvalidParameters` with the position in the file, from 0."""
        character = self._behind + (self._at if at is None else at)
        raise InvalidParameters(f"{place} is not JSON: {message} (char {character})")

    def _more(self, place: str) -> bool:
        """Read more of the file. Return False if the end of the file was reached before.

        Each read doubles the unread text, so that a long value is parsed only a few times.
        """
        if self._ended:
            return False
        rest = self._text[self._at :]
        part = self._file.read(max(WINDOW, len(rest)))
        self._ended = not part
        try:
            more = self._decoder.decode(part, final=self._ended)
        except UnicodeDecodeError as error:
            raise InvalidParameters(f"{place} is not JSON: {error.reason}") from error
        self._behind += self._at
        self._text, self._at = rest + more, 0
        return True
