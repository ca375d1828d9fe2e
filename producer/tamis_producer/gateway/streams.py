"""Streamed answers. Each API key may have a limited number of streams. A stream releases its resources at its end."""

from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from typing import IO, Any

import anyio
from anyio import to_thread
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from . import problems
from .api_keys import ApiKey

MOST_OF_A_KEY = 16
RETRY_AFTER = 5  # s
PIECE = 65_536  # bytes of a file sent at once


class OpenStreams:
    """The number of open streams of each key."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._open.total()

    @contextmanager
    def one_more(self, key: ApiKey) -> Iterator[bool]:
        """Yield whether the key may open one more stream. If so, the stream counts as open until the end of `with`."""
        if self._open[key.id] >= MOST_OF_A_KEY:
            yield False
            return
        self._open[key.id] += 1
        try:
            yield True
        finally:
            self._open[key.id] -= 1
            if not self._open[key.id]:
                del self._open[key.id]


async def pieces_of(file: IO[bytes], open_file: ExitStack) -> AsyncGenerator[str | bytes]:
    """Yield the rest of a file in pieces. At the end, exit `open_file`, which closes the file."""
    with open_file:
        while piece := await to_thread.run_sync(file.read, PIECE):
            yield piece


class Pieces(StreamingResponse):
    """An answer in pieces. When the answer ends, the source of the pieces is closed."""

    def __init__(self, pieces: AsyncGenerator[str | bytes], *args: Any, **kwargs: Any) -> None:
        super().__init__(pieces, *args, **kwargs)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer to its end, or until the reader disconnects."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            # On cancellation too, so that its resources do not wait for the garbage collector.
            with anyio.CancelScope(shield=True):
                await self._pieces.aclose()


class Stream(Pieces):
    """An answer in pieces, or 429 if the key has too many open streams."""

    def __init__(
        self,
        pieces: AsyncGenerator[str | bytes],
        *,
        of: OpenStreams,
        key: ApiKey,
        media_type: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(pieces, media_type=media_type, headers=headers)
        self._streams = of
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer to its end, or until the reader disconnects."""
        with self._streams.one_more(self._key) as granted:
            await (super().__call__ if granted else _too_many)(scope, receive, send)


async def _too_many(scope: Scope, receive: Receive, send: Send) -> None:
    refusal = problems.problem(
        HTTPStatus.TOO_MANY_REQUESTS,
        "too-many-streams",
        "The key has too many answers open",
        f"a key may have at most {MOST_OF_A_KEY} open event streams and downloads: finish or close one",
        headers={"Retry-After": str(RETRY_AFTER)},
    )
    await refusal(scope, receive, send)
