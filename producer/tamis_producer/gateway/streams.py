"""Streamed answers. Each key may have a limited number of streams, and their resources are released at the end."""

from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus

import anyio
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from . import problems
from .api_keys import ApiKey

MOST_OF_A_KEY = 16
RETRY_AFTER = 5  # s


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


class Stream(StreamingResponse):
    """An answer in pieces, or 429 if the key has too many open streams.

    When the answer ends, the source of the pieces is closed.
    """

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
        self._pieces = pieces
        self._streams = of
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer to its end, or until the reader disconnects."""
        with self._streams.one_more(self._key) as granted:
            if not granted:
                await _too_many(scope, receive, send)
                return
            try:
                await super().__call__(scope, receive, send)
            finally:
                # On cancellation too, so that its resources do not wait for the garbage collector.
                with anyio.CancelScope(shield=True):
                    await self._pieces.aclose()


async def _too_many(scope: Scope, receive: Receive, send: Send) -> None:
    refusal = problems.problem(
        HTTPStatus.TOO_MANY_REQUESTS,
        "too-many-streams",
        "The key has too many answers open",
        f"a key may have at most {MOST_OF_A_KEY} open event streams and downloads: finish or close one",
        headers={"Retry-After": str(RETRY_AFTER)},
    )
    await refusal(scope, receive, send)
