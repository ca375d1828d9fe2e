"""A new batch out of a request: one JSON object, or NDJSON, whose first line says what to ask of the others."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from decimal import Decimal
from http import HTTPStatus
from itertools import count
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated, Any

from fastapi import HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic.config import JsonDict
from starlette.requests import ClientDisconnect

from tamis_schemas import NO_STEERING, Callback, InvalidParameters, Priority, Steering
from tamis_schemas.operations import NamedOperation, first_complaint

from ..config.settings import ProducerSettings
from ..process.waiting import BesideLoop
from ..submission.bounds import Bounds
from ..submission.budget import MOST, amount_of
from .json_members import members

NDJSON = "application/x-ndjson"
ITEMS = "items"
IN_MEMORY = 131_072  # bytes of a body; a longer one goes to disk, so many at a time
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


class Terms(BaseModel):
    """The operation of a batch, and its terms."""

    model_config = ConfigDict(extra="forbid")

    operation: NamedOperation = Field(description="The operation's name and parameters.")
    model: str | None = Field(default=None, description="None: the one of the settings, else the workers' own.")
    label: str | None = Field(default=None, max_length=500, description="What people call the batch.")
    use_cache: bool = Field(default=True, strict=True)
    priority: Priority = Priority.NORMAL
    max_cost: Dollars | None = Field(default=None, description="Dollars; None: no budget.")
    callback: Callback | None = Field(default=None, description="Whom to tell of its end; None: whom the key names.")
    steering: Steering = Field(default=NO_STEERING, description="Goes over what the workers are set to.")


class Submission(Terms):
    """A new batch."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    items: list[dict[str, Any]]


@asynccontextmanager
async def read_submission(request: Request, settings: ProducerSettings) -> AsyncIterator[tuple[Terms, Iterator[Any]]]:
    """The terms of the batch that a request asks for, and its items, which are read as they are taken.

    The body is kept on disk until the end of `with`, whatever comes first in it: nobody waits for its sender but this
    request, and neither a thread nor a connection is held meanwhile. Items are to be taken on a thread.

    Raises:
        HTTPException: 413 for more than TAMIS_MAX_FILE_BYTES, 415 for another media type.
        InvalidParameters: what is not as it should be, with its line or field; of an item when it is taken.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", NDJSON):
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a batch is sent as application/json or {NDJSON}")
    with SpooledTemporaryFile(IN_MEMORY) as body:
        await _keep(request, body, largest=settings.max_file_bytes)
        read = _of_lines if kind == NDJSON else _of_object
        yield await run_in_threadpool(read, body, Bounds.of(settings))


async def _keep(request: Request, body: IO[bytes], *, largest: int) -> None:
    """Write a request's body to a file, on threads, many parts at a time."""
    size, parts = 0, bytearray()
    try:
        async for part in request.stream():
            size += len(part)
            if size > largest:
                raise HTTPException(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    f"a batch has {largest:,} bytes at most (TAMIS_MAX_FILE_BYTES): submit it in several",
                )
            parts += part
            if len(parts) >= IN_MEMORY:
                await run_in_threadpool(body.write, parts)
                parts = bytearray()
    except ClientDisconnect as error:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the body ended before its end") from error
    await run_in_threadpool(body.write, parts)


def _of_object(body: IO[bytes], bounds: Bounds) -> tuple[Terms, Iterator[Any]]:
    """Read a JSON object, whose members come in any order: it is gone through twice."""
    longest, terms, items = _longest(bounds), dict[str, Any](), False
    for member in BesideLoop().in_turns(members(body, streamed=ITEMS, longest=longest)):
        if member.number is not None:
            bounds.check_count(member.number + 1)
        elif member.name != ITEMS:
            terms[member.name] = member.value
        elif items:
            raise InvalidParameters(f"{ITEMS}: they are given twice")
        else:
            items = member.value is None
            terms[ITEMS] = [] if items else member.value
    submission = validated(Submission, terms, "")
    return submission, _elements(body, longest)


def _elements(body: IO[bytes], longest: int) -> Iterator[dict[str, Any]]:
    for member in members(body, streamed=ITEMS, longest=longest):
        if member.number is None:
            continue
        if not isinstance(member.value, dict):
            raise InvalidParameters(f"{ITEMS}.{member.number}: Input should be a valid dictionary")
        yield member.value


def _of_lines(body: IO[bytes], bounds: Bounds) -> tuple[Terms, Iterator[Any]]:
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
            raise InvalidParameters(f"line {number}: an item is a JSON object, this is not one")
        yield item


def _longest(bounds: Bounds) -> int:
    """Return the longest an item or terms may be as text: no escape is longer than this, and white space is free."""
    return LONGEST_ESCAPE * max(bounds.max_item_bytes, bounds.max_parameter_bytes) + SPACE


def decoded(text: bytes | str, place: str) -> Any:
    """The JSON value of a text. Raises `InvalidParameters` naming the place where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidParameters(f"{place} is no JSON: {error}") from error


def validated(model: type[Any], data: object, place: str) -> Any:
    """The model of some data. Raises `InvalidParameters` naming place and field where it is not as it should be."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise InvalidParameters(f"{place}{first_complaint(error)}") from error
