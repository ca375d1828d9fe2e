"""Requests that wait for a batch of their own: for so long at most, and not for a caller who has hung up.

Whoever waited as long as the gateway lets a request wait is told where the results will be. Whoever hung up reads
nothing, so what is not asked yet is not asked: the batch is cancelled, and what is paid for is kept.
"""

import asyncio
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Header, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from tamis_schemas import IllegalTransition, ItemResult, ItemStatus, Operation, Pause

from ..client.batch import Batch
from ..ledger import CallResult
from ..process.waiting import poll_pauses
from ..services.evaluation_service import MAX_CONCURRENT
from ..submission.item_conversion import to_item
from .access import Of, Submitter
from .allowance import check_price

HUNG_UP = 499  # what logs and figures call it; nobody reads the answer
_WAIT = re.compile(r'(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])', re.IGNORECASE)
_ASYNC = re.compile(r"(?:^|[,;\s])respond-async\s*(?:$|[,;])", re.IGNORECASE)


class Accepted(BaseModel):
    """A batch that goes on; its results can be read as they come, with a key that may read."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"batch": "3f2a91c0-...", "results": "/v1/batches/..."}]})

    batch: str = Field(description="Its id.")
    results: str = Field(description="Where its results are.")


ACCEPTED: dict[int | str, dict[str, Any]] = {
    HTTPStatus.ACCEPTED.value: {
        "model": Accepted,
        "description": "It took longer than a request may wait (`Prefer: wait=`, TAMIS_HTTP_WAIT_SECONDS); it goes on.",
        "headers": {"Location": {"description": "Where its results are.", "schema": {"type": "string"}}},
    }
}


@dataclass(frozen=True)
class Rows:
    """The results of a batch."""

    rows: list[ItemResult]  # every item with its result, in the order given
    pause: Pause | None = None  # why the batch went no further; its other items are pending

    def call(self, place: int) -> CallResult:
        """Return the result of one item."""
        row = self.rows[place]
        return CallResult(ItemStatus(row.status), row.result, row.detail, row.error_kind, self.pause)


def seconds_of(prefer: str, most: int) -> int:
    """Return the seconds that a request waits: those of `Prefer` (RFC 7240: `wait=10`, `respond-async`), or `most`."""
    waits = _WAIT.search(prefer)
    if waits is not None:
        return min(int(waits[1]), most)
    return 0 if _ASYNC.search(prefer) else most


class WaitingRequest:
    """A dependency: submits a batch with the request's key, and waits for it."""

    def __init__(
        self,
        request: Request,
        client: Of,
        key: Submitter,
        prefer: Annotated[str, Header(description="`wait=10`: seconds to wait at most.")] = "",
    ) -> None:
        self._request = request
        self._client = client
        self._key = key
        self._seconds = seconds_of(prefer, client.settings.http_wait_seconds)
        self._applied = {"Preference-Applied": f"wait={self._seconds}"} if prefer else {}

    async def rows(
        self,
        operation: Operation,
        items: Iterable[object],
        *,
        service: str,
        model: str | None = None,
        max_cost: Decimal | None = None,
    ) -> Rows | Response:
        """Every item with its result, in the order given; or, where they have not come in time, where they will be.

        Raises what `Client.submit` raises.
        """
        check_price(self._key, operation, model, self._client.settings)
        submit = partial(
            self._client.submit,
            operation,
            [to_item(item) for item in items],
            model=model,
            shard_size=MAX_CONCURRENT,
            window=1,
            max_cost=max_cost,
            api_key_id=self._key.id,
            service=service,
        )
        batch = await run_in_threadpool(submit)
        gone = asyncio.ensure_future(_gone(self._request))
        try:
            rows = await self._ended(batch, gone)
        finally:
            gone.cancel()
        if rows is not None:
            return rows
        if gone.done() and not gone.cancelled():
            await _cancel(batch)
            return Response(status_code=HUNG_UP)
        results = f"/v1/batches/{batch.id}/results"
        accepted = Accepted(batch=batch.id, results=results).model_dump()
        return JSONResponse(accepted, HTTPStatus.ACCEPTED, {"Location": results} | self._applied)

    async def _ended(self, batch: Batch, gone: "asyncio.Future[None]") -> Rows | None:
        """Return its results; None where the caller is gone, or nothing came in time."""
        pauses = poll_pauses(self._seconds)
        while True:
            view = await run_in_threadpool(batch.status)
            if view.finished or view.stuck is not None:
                rows = Rows(await run_in_threadpool(lambda: list(batch.results())), view.stuck)
                if not view.finished:  # the caller is told why; paused, it would hold its key's money for nobody
                    await _cancel(batch)
                return rows
            pause = next(pauses, None)
            if pause is None or self._request.app.state.stops():
                return None
            await asyncio.wait([gone], timeout=pause)
            if gone.done():
                return None


async def _cancel(batch: Batch) -> None:
    with suppress(IllegalTransition):  # it ended meanwhile
        await run_in_threadpool(batch.cancel)


async def _gone(request: Request) -> None:
    """Return when the caller has hung up; the body was read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
