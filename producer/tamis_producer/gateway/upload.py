"""An upload: what is asked, as one line of JSON, and behind it a file, which goes to disk as it comes.

No form of a browser's: they carry a file between boundaries that take a parser of their own, and the first line is what
a new batch as NDJSON begins with, too.
"""

from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

from fastapi import HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel

from tamis_schemas import InvalidParameters

from .submission import decoded, validated

MEDIA_TYPE = "application/vnd.tamis.file"
LONGEST_LINE = 1_000_000  # bytes of the first line: ten times the longest parameters

Line = TypeVar("Line", bound=BaseModel)


async def read_upload(request: Request, kind: type[Line], path: Path, *, largest: int) -> Line:
    """What the first line asks; the file behind it is at `path` then, byte for byte.

    Raises:
        HTTPException: 413 for a file of more than `largest` bytes, 415 for another media type.
        InvalidParameters: the first line is not as it should be, or there is nothing behind it.
    """
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if said != MEDIA_TYPE:
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a file is sent as {MEDIA_TYPE}, behind a line of JSON")
    first, begun, size = bytearray(), False, 0
    file = await run_in_threadpool(path.open, "wb")
    with file:
        async for part in request.stream():
            rest = part
            if not begun:
                line, newline, rest = part.partition(b"\n")
                first += line
                begun = bool(newline)
                if len(first) > LONGEST_LINE:
                    raise InvalidParameters(f"line 1: more than {LONGEST_LINE:,} bytes; it holds all but the file")
            size += len(rest)
            if size > largest:
                raise HTTPException(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    f"a file has {largest:,} bytes at most (TAMIS_MAX_FILE_BYTES): split it",
                )
            await run_in_threadpool(file.write, rest)
    read: Line = validated(kind, decoded(bytes(first), "line 1"), "line 1: ")
    if not size:
        raise InvalidParameters("there is no file behind line 1")
    return read
