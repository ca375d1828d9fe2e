"""Progress as server-sent events: one whenever a batch stands otherwise than before, and one at its end."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from uuid import UUID

from .batch_status_view import BatchStatusView
from .lookout import Lookout

SILENCE = 15.0  # s without news, after which a comment keeps proxies from hanging up
COMMENT = ": still there\n\n"
EVENTS = "text/event-stream"
STREAMED = {"X-Accel-Buffering": "no"}  # proxies that know it pass each event on at once


async def progress(lookout: Lookout, batch_id: UUID) -> AsyncGenerator[str | bytes]:
    """`event: progress`, then `event: end` once nothing more will happen by itself; data: a `BatchStatusView`.

    Where the gateway stops, the stream ends without an `end`: whoever follows asks another one.
    """
    async with aclosing(lookout.batch(batch_id, silence=SILENCE)) as views:
        async for view in views:
            if view is None:
                yield COMMENT
                continue
            over = view.finished or view.stuck is not None
            yield f"event: {'end' if over else 'progress'}\ndata: {BatchStatusView.of(view).model_dump_json()}\n\n"
            if over:
                return
