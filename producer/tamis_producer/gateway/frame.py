"""Around every request: how large a body may be, how slowly it may come, and what every answer says of itself."""

import asyncio
import re
import time
from collections.abc import Mapping
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import problems

_BATCH = re.compile(r"(?<=^/v1/batches)/[^/]+/")
PATIENCE = 30.0  # s that may be waited for a body's parts, and as much more as they would take at the slowest
SLOWEST = 10_000  # bytes a second


class Frame:
    """Refuses what is too large, or too slow; a batch is counted as it comes, and may be without a length."""

    def __init__(self, app: ASGIApp, *, largest: int, largest_of: Mapping[str, int | None]) -> None:
        """`largest`: bytes of a body; `largest_of`: by the path of a POST, `{batch_id}` in it, or None."""
        self._app = app
        self._largest = largest
        self._largest_of = largest_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def framed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Content-Type-Options"] = "nosniff"
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        if (refusal := self._refusal(scope)) is not None:
            await refusal(scope, receive, framed)
        else:
            await self._app(scope, _paced(receive), framed)

    def _refusal(self, scope: Scope) -> Response | None:
        path = _BATCH.sub("/{batch_id}/", scope["path"])
        most = self._largest_of.get(path, self._largest) if scope["method"] == "POST" else self._largest
        if most is None:
            return None
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers:
            detail = "a request says its content-length, and is not sent in chunks"
            return problems.problem(HTTPStatus.LENGTH_REQUIRED, "length-required", "The length is missing", detail)
        if int(headers.get("content-length", 0)) > most:  # the server has seen to its being a number
            detail = f"a request has {most:,} bytes at most"
            return problems.problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", "The request is too large", detail
            )
        return None


def _paced(receive: Receive) -> Receive:
    """The same body, as long as it does not come too slowly. Time in which nobody asks for it does not count."""
    waited, size, whole = 0.0, 0, False

    async def paced() -> Message:
        nonlocal waited, size, whole
        if whole:  # all that can still come is the hang-up
            return await receive()
        began = time.monotonic()
        try:
            async with asyncio.timeout(allowed(size) - waited):
                message = await receive()
        except TimeoutError as error:
            detail = f"a body comes within {PATIENCE:g} s, or with {SLOWEST:,} bytes a second"
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, detail) from error
        waited += time.monotonic() - began
        size += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        return message

    return paced


def allowed(size: int) -> float:
    """The seconds that may be waited for a body of which so many bytes have come."""
    return PATIENCE + size / SLOWEST
