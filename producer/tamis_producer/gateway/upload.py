"""An upload: a form of a browser's or of `curl --form`, with what is asked as JSON, and a file."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TypeVar

from fastapi import HTTPException, Request
from pydantic import BaseModel
from starlette.datastructures import UploadFile

from tamis_schemas import InvalidParameters

from .submission_body import decoded, validated

MEDIA_TYPE = "multipart/form-data"
Asked = TypeVar("Asked", bound=BaseModel)
LONGEST_TERMS = 1_000_000  # bytes: ten times the longest parameters


@asynccontextmanager
async def uploaded(request: Request, kind: type[Asked], *, largest: int) -> AsyncIterator[tuple[Asked, UploadFile]]:
    """The form's field `terms`, and its `file`, which is kept on disk until the end; the file has a name, and content.

    Raises:
        HTTPException: 413 for a file of more than `largest` bytes, 415 for another media type.
        InvalidParameters: the form lacks a field, or has one that is not as it should be.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != MEDIA_TYPE:
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a file is sent as {MEDIA_TYPE}")
    async with request.form(max_files=1, max_fields=1, max_part_size=LONGEST_TERMS) as form:
        file, terms = form.get("file"), form.get("terms")
        if not isinstance(file, UploadFile) or not file.size:
            raise InvalidParameters("file: there is none")
        if file.size > largest:
            raise HTTPException(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"a file has {largest:,} bytes at most (TAMIS_MAX_FILE_BYTES): split it",
            )
        if not isinstance(terms, str):
            raise InvalidParameters("terms: there are none; they say as JSON what to ask of the file's records")
        yield validated(kind, decoded(terms, "terms"), "terms: "), file
