"""A new batch out of a request: one JSON object, or NDJSON, whose first line says what to ask of the others."""

import json
from collections.abc import Iterator
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import HTTPException, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic.config import JsonDict

from tamis_schemas import NO_STEERING, Callback, InvalidParameters, Priority, Steering
from tamis_schemas.operations import NamedOperation, first_complaint

from ..budget import MOST, amount_of

NDJSON = "application/x-ndjson"

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
    """What is asked, and on which terms."""

    model_config = ConfigDict(extra="forbid")

    operation: NamedOperation = Field(description="The operation's name and parameters.")
    model: str | None = Field(default=None, description="None: the one of the settings, else the workers' own.")
    label: str | None = Field(default=None, max_length=500, description="What people call the batch.")
    use_cache: bool = True
    priority: Priority = Priority.NORMAL
    max_cost: Dollars | None = Field(default=None, description="Dollars; None: no budget.")
    callback: Callback | None = Field(default=None, description="Whom to tell of its end; None: whom the key names.")
    steering: Steering = Field(default=NO_STEERING, description="Goes over what the workers are set to.")


class Submission(Terms):
    """A new batch."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    items: list[dict[str, Any]]


async def read_submission(request: Request, *, largest: int) -> Submission:
    """The batch that a request asks for.

    Raises:
        HTTPException: 413 for more than `largest` bytes, 415 for another media type.
        InvalidParameters: what is not as it should be, with its line or field.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", NDJSON):
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a batch is sent as application/json or {NDJSON}")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > largest:
            raise HTTPException(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"a batch has {largest:,} bytes at most (TAMIS_MAX_FILE_BYTES): submit it in several",
            )
    return _of_lines(bytes(body)) if kind == NDJSON else validated(Submission, decoded(bytes(body), "the body"), "")


def _of_lines(body: bytes) -> Submission:
    lines = ((number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip())
    number, first = next(lines, (1, b""))
    terms = validated(Terms, decoded(first, f"line {number}"), f"line {number}: ")
    return Submission(**dict(terms), items=list(_items(lines)))


def _items(lines: Iterator[tuple[int, bytes]]) -> Iterator[dict[str, Any]]:
    for number, line in lines:
        item = decoded(line, f"line {number}")
        if not isinstance(item, dict):
            raise InvalidParameters(f"line {number}: an item is a JSON object, this is not one")
        yield item


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
