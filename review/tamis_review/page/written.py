"""Answers that are written to a file before they are sent, so that a slow client occupies no other resource."""

from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack
from io import StringIO
from tempfile import TemporaryFile
from typing import TextIO

import anyio
from anyio import to_thread
from fastapi.responses import Response

from tamis_producer.gateway.streams import pieces_of

WRITTEN_AT_ONCE = 2  # for all callers


def csv_table(write: Callable[[TextIO], object]) -> Response:
    """Return a response with a small table as CSV. `write`: writes the table to a stream."""
    table = StringIO(newline="")
    write(table)
    return Response(table.getvalue(), media_type="text/csv")


async def written(write: Callable[[TextIO], object], limiter: anyio.CapacityLimiter) -> AsyncGenerator[str | bytes]:
    """Let `write` fill a temporary file, and return the file's bytes in pieces. Raise the errors of `write`."""
    with ExitStack() as stack:
        file: TextIO = stack.enter_context(TemporaryFile("w+", encoding="utf-8", errors="surrogatepass", newline=""))
        await to_thread.run_sync(write, file, limiter=limiter)
        await to_thread.run_sync(file.seek, 0)
        return pieces_of(file.buffer, stack.pop_all())
