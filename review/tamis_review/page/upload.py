"""Uploads: forms from a browser or `curl --form`, with settings as JSON (`terms`) and files."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from fastapi import HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel
from starlette.datastructures import UploadFile

from tamis_producer.client.client import Client
from tamis_producer.gateway.description import component
from tamis_producer.gateway.submission_body import decoded
from tamis_schemas import InputError, InvalidParameters
from tamis_schemas.operations import validated

from ..intake.record_count import RecordCount, TooLarge

MEDIA_TYPE = "multipart/form-data"
Asked = TypeVar("Asked", bound=BaseModel)
Answer = TypeVar("Answer")
LONGEST_TERMS = 1_000_000  # bytes: ten times the longest parameters
MOST_FILES = 100  # in a form; a review searches about a dozen sources


def form_body(terms: type[BaseModel], file: str, *, several: bool = False) -> dict[str, Any]:
    """Return the description of a form's request body for OpenAPI. `file` describes its file, or each of several."""
    content: dict[str, Any] = {"type": "string", "format": "binary", "description": file}
    if several:
        content = {"type": "array", "items": content, "minItems": 1, "maxItems": MOST_FILES}
    fields = {"terms": component(terms), "file": content}
    schema = {"type": "object", "required": [*fields], "properties": fields}
    return {"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": schema}}}}


@asynccontextmanager
async def uploaded(
    request: Request, client: Client, kind: type[Asked]
) -> AsyncIterator[tuple[Asked, list[UploadFile]]]:
    """Yield a form's `terms` and its files in order. The files stay on disk until the end of `with`.

    Raises:
        HTTPException: 413 for files that are too large together, 415 for another media type.
        InvalidParameters: a field is missing or invalid, or a file is empty.
    """
    largest = client.settings.max_file_bytes
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != MEDIA_TYPE:
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send files as {MEDIA_TYPE}")
    async with request.form(max_files=MOST_FILES, max_fields=1, max_part_size=LONGEST_TERMS) as form:
        terms = form.get("terms")
        files = [file for file in form.getlist("file") if isinstance(file, UploadFile)]
        if not files:
            raise InvalidParameters("file: the form has no file")
        if (empty := next((file for file in files if not file.size), None)) is not None:
            raise InvalidParameters(f"file: {empty.filename or 'the only one'!r} is empty")
        if (size := sum(file.size or 0 for file in files)) > largest:
            detail = f"all files have together {largest:,} bytes at most (TAMIS_MAX_FILE_BYTES): split them"
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
        if not isinstance(terms, str):
            raise InvalidParameters("terms: missing; send the settings as JSON")
        checked = validated(kind, decoded(terms, "terms"), "terms: ")
        async with request.app.state.large_bodies.turn(request, size):
            yield checked, files


async def answered_by_file(
    request: Request, client: Client, kind: type[Asked], noun: str, answer: Callable[[Asked, Path, str], Answer]
) -> Answer:
    """Call `answer` on a thread, with a form's terms and the path and name of its only file, and return the result.

    Raises `InvalidParameters` if there are several files, and the errors of `uploaded`, `on_disk` and `answer`.
    """

    def answered(terms: Asked, file: UploadFile) -> Answer:
        with on_disk(client, [file], [name := file.filename or "the file"]) as called:
            (path,) = called
            return answer(terms, path, name)

    async with uploaded(request, client, kind) as (terms, files):
        if len(files) > 1:
            raise InvalidParameters(f"file: send one file of {noun} at a time")
        return await run_in_threadpool(answered, terms, files[0])


@contextmanager
def on_disk(client: Client, files: Sequence[UploadFile], names: Sequence[str]) -> Iterator[dict[Path, str]]:
    """Write the uploaded files to disk until the end of `with`. Yield a mapping from path to original name.

    An `InputError` in the `with` block becomes `InvalidParameters`, with the original names.
    """
    with TemporaryDirectory(prefix="tamis-files-") as folder:
        called = {Path(folder) / f"{place:03}": name for place, name in enumerate(names)}
        count = RecordCount(client.settings.max_file_bytes)
        try:
            for path, file in zip(called, files, strict=True):
                with path.open("wb") as copy:
                    count.copy(file.file, copy, path)
            yield called
        except TooLarge as error:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, as_called(str(error), called)) from error
        except InputError as error:
            raise InvalidParameters(as_called(str(error), called)) from error


def as_called(message: str, called: Mapping[Path, str]) -> str:
    """Return the message with the files' original names instead of their paths."""
    for path, name in called.items():
        message = message.replace(str(path), name)
    return message
