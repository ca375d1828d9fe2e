"""Progress as server-sent events: one whenever a batch stands otherwise than before, and one at its end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TypeVar

from fastapi.concurrency import run_in_threadpool

from tamis_schemas import TamisError

from ..batch import Batch
from .standing import Standing

LOOK_EVERY = 0.5  # s
SILENCE = 15.0  # s without news, after which a comment keeps proxies from hanging up
COMMENT = ": still there\n\n"
EVENTS = "text/event-stream"
STREAMED = {"X-Accel-Buffering": "no"}  # proxies that know it pass each event on at once

View = TypeVar("View")


async def progress(batch: Batch, stops: Callable[[], bool]) -> AsyncIterator[str]:
    """`event: progress`, then `event: end` once nothing more will happen by itself; data is a `Standing` as JSON.

    Where the gateway `stops`, the stream ends without an `end`: whoever follows asks another one.
    """
    async for view in followed(batch.status, lambda view: Standing.of(view).seen, stops, every=LOOK_EVERY):
        if view is None:
            yield COMMENT
            continue
        over = view.finished or view.stuck is not None
        yield f"event: {'end' if over else 'progress'}\ndata: {Standing.of(view).model_dump_json()}\n\n"
        if over:
            return


async def followed(
    look: Callable[[], View],
    seen: Callable[[View], object],
    stops: Callable[[], bool],
    *,
    every: float,
    silence: float = SILENCE,
) -> AsyncIterator[View | None]:
    """What a look finds, whenever what is `seen` of it changed; None after so many seconds without; until it `stops`.

    Args:
        look: asks the ledger, on a thread; where that is away, the next look may find it again.
        seen: what makes a finding another one.
        stops: whether nobody is to be told any more.
        every: seconds between two looks.
        silence: seconds.
    """
    before, looks = None, 0
    while not stops():
        looks += 1
        with suppress(TamisError):
            found = await run_in_threadpool(look)
            if (now := seen(found)) != before:
                before, looks = now, 0
                yield found
        if looks * every >= silence:
            looks = 0
            yield None
        await asyncio.sleep(every)
