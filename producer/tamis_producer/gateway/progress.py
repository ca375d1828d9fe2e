"""Progress as server-sent events: one whenever a batch stands otherwise than before, and one at its end."""

import asyncio
from collections.abc import AsyncIterator, Callable

from fastapi.concurrency import run_in_threadpool

from tamis_schemas import TamisError

from ..batch import Batch
from .standing import Standing

LOOK_EVERY = 0.5  # s
SILENCE = 30  # looks without news, after which a comment keeps proxies from hanging up
EVENTS = "text/event-stream"
STREAMED = {"X-Accel-Buffering": "no"}  # proxies that know it pass each event on at once


async def progress(batch: Batch, stops: Callable[[], bool]) -> AsyncIterator[str]:
    """`event: progress`, then `event: end` once nothing more will happen by itself; data is a `Standing` as JSON.

    Where the gateway `stops`, the stream ends without an `end`: whoever follows asks another one.
    """
    before, silent = None, 0
    while not stops():
        try:
            view = await run_in_threadpool(batch.status)
        except TamisError:  # the ledger is away: the next look may find it again
            view = None
        if view is not None:
            standing = Standing.of(view)
            if view.finished or view.stuck is not None:
                yield f"event: end\ndata: {standing.model_dump_json()}\n\n"
                return
            now = standing.seen
            if now != before:
                before, silent = now, 0
                yield f"event: progress\ndata: {standing.model_dump_json()}\n\n"
        silent += 1
        if silent % SILENCE == 0:
            yield ": still there\n\n"
        await asyncio.sleep(LOOK_EVERY)
