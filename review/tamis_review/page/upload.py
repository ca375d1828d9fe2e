"""Uploads: forms from a browser or `curl --form`, with settings as JSON (`terms`) and files."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, TypeVar

from anyio import CapacityLimiter
from fastapi import HTTPException, Request
from fastapi.concurrency import contextmanager_in_threadpool
from pydantic import BaseModel
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartParser

from tamis_producer.client.client import Client
from tamis_producer.gateway.description import component
from tamis_producer.gateway.frame import LARGE
from tamis_producer.gateway.reading_process import answered
from tamis_producer.gateway.submission_body import decoded
from tamis_schemas import InvalidParameters, InvalidRequest
from tamis_schemas.operations import validated

from ..intake.record_count import BINARY, PIECE, RecordCount, TooLarge

MultiPartParser.spool_max_size = 4_096  # bytes of a file in memory; the default of 1 MB counts for each file of a form
MEDIA_TYPE = "multipart/form-data"
Answer = TypeVar("Answer")
Asked = TypeVar("Asked", bound=BaseModel)
Reading: TypeAlias = Callable[[Client, Asked, Mapping[Path, str]], Answer]
LONGEST_TERMS = 1_000_000  # bytes: ten times the longest parameters
LONGEST_NAME = 200
MOST_FILES = 100  # in a form; a review searches about a dozen sources


def form_body(terms: type[BaseModel], file: str, *, several: bool = False) -> dict[str, Any]:
    """Return the OpenAPI description of a form's request body. `file`: describes the form's file, or each file."""
    content: dict[str, Any] = {"type": "string", "format": "binary", "description": file}
    if several:
        content = {"type": "array", "items": content, "minItems": 1, "maxItems": MOST_FILES}
    fields = {"terms": component(terms), "file": content}
    schema = {"type": "object", "required": [*fields], "properties": fields}
    return {"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": schema}}}}


async def answered_by_files(
    request: Request,
    client: Client,
    kind: type[Asked],
    read: Reading[Asked, Answer],
    *,
    only: str | None = None,
    together: CapacityLimiter | None = None,
) -> Answer:
    """Return the answer of `read` to a form with `terms` and files.

    Small files are read on a thread, large files in a process of their own (`answered`).

    Args:
        request: its body is the form.
        client: passed to `read`.
        kind: the class of the form's terms.
        read: answers terms, and a mapping from each file's path to its original name.
        only: the noun for the contents of the only allowed file. None: the form may have several files.
        together: limits how many calls of `read` run at the same time.

    Raises the errors of `read` and `answered`, with the files' original names, and:
        HTTPException: 413 for files that are too large together, 415 for another media type.
        InvalidParameters: a field is missing or invalid, a file is empty, or there are too many files.
    """
    largest = client.settings.max_file_bytes
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != MEDIA_TYPE:
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
        if only is not None and len(files) > 1:
            raise InvalidParameters(f"file: send one file of {only} at a time")
        names = names_of(files) if only is None else [files[0].filename or "the file"]
        cost = max(size, LARGE + 1 if any(map(_is_binary, files)) else 0)
        async with (
            request.app.state.large_bodies.turn(request, cost),
            contextmanager_in_threadpool(_on_disk(client, files, names)) as called,
            together or nullcontext(),
        ):
            return await answered(request, cost, partial(_read, read, client, checked, called))


def _is_binary(file: UploadFile) -> bool:
    """Return whether the file is an archive or a database, whose contents may be much larger than the file."""
    beginning = file.file.read(PIECE)
    file.file.seek(0)
    return beginning.startswith(BINARY)


def _read(read: Reading[Asked, Answer], client: Client, terms: Asked, called: Mapping[Path, str]) -> Answer:
    with _as_called(called):
        return read(client, terms, called)


@contextmanager
def _on_disk(client: Client, files: Sequence[UploadFile], names: Sequence[str]) -> Iterator[dict[Path, str]]:
    """Write the uploaded files to disk until the end of `with`. Yield a mapping from path to original name."""
    with TemporaryDirectory(prefix="tamis-files-") as folder:
        called = {Path(folder) / f"{place:03}": name for place, name in enumerate(names)}
        count = RecordCount(client.settings.max_file_bytes)
        with _as_called(called):
            for path, file in zip(called, files, strict=True):
                with path.open("wb") as copy:
                    count.copy(file.file, copy, path)
        yield called


@contextmanager
def _as_called(called: Mapping[Path, str]) -> Iterator[None]:
    """Raise the errors of readers as problems of the request, with the files' original names."""
    try:
        yield
    except TooLarge as error:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, as_called(str(error), called)) from error
    except InvalidRequest as error:
        if (message := as_called(str(error), called)) == str(error):
            raise
        raise InvalidParameters(message) from error


def as_called(message: str, called: Mapping[Path, str]) -> str:
    """Return the message with the files' original names instead of their paths."""
    for path, name in called.items():
        message = message.replace(str(path), name)
    return message


def names_of(files: Sequence[UploadFile]) -> list[str]:
    """Return the names of the files. Raise `InvalidParameters` if a name is unprintable or used twice."""
    names = [file.filename or "" for file in files]
    if any(not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME for name in names):
        raise InvalidParameters(f"file: a file name must have 1 to {LONGEST_NAME} printable characters")
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise InvalidParameters(f"file: two files are called {twice[0]!r}; give each its own name")
    return names
