"""A watcher that reads batches for all followers: one read of the ledger serves any number of followers.

A follower is a request that receives server-sent events. Without followers, the watcher reads nothing.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Hashable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from fastapi.concurrency import run_in_threadpool
from pydantic import TypeAdapter

from tamis_schemas import TamisError

from ..client.client import Client
from ..ledger import ledger_errors, read_views
from ..ledger.batch_view import BatchView
from .batch_status_view import BatchStatusView

LOOK_EVERY = 0.5  # s, while single batches are followed
LIST_EVERY = 1.0  # s, while only the latest batches are followed

Watched = TypeVar("Watched", bound=Hashable)
View = TypeVar("View")
log = logging.getLogger(__name__)
SILENCE = 15.0  # s without an event, after which a comment keeps proxies from closing the connection
LIST_SILENCE = 5.0  # s without an event, for followers of the latest batches
END = "end"  # name of a batch's last event
COMMENT = ": still there\n\n"
EVENTS = "text/event-stream"
STREAMED = {"X-Accel-Buffering": "no"}  # proxies that know it pass each event on at once

_standings = TypeAdapter(list[BatchStatusView])


@dataclass(frozen=True)
class Look:
    """The result of one read for all followers: the requested batches."""

    asked: frozenset[UUID] = frozenset()  # ids of the requested batches
    batches: Mapping[UUID, BatchView] = field(default_factory=dict)
    listed: int = 0  # number of latest batches requested
    latest: tuple[BatchView, ...] = ()
    unreviewed: int = 0  # number of latest batches without a review requested
    of_no_review: tuple[BatchView, ...] = ()


class BatchWatcher:
    """A reader of batches for all their followers on one event loop."""

    def __init__(self, ask: Callable[[frozenset[UUID], int, int], Look], stops: Callable[[], bool]) -> None:
        """Begin without followers.

        `ask(ids, n, m)` runs on a thread. It reads the batches with these ids, the latest `n` batches, and the latest
        `m` batches without a review. When `stops` returns True, the followers' streams end.
        """
        self._ask = ask
        self._stops = stops
        self._batches: Counter[UUID] = Counter()  # followers
        self._lists: Counter[int] = Counter()  # followers, by the number of batches
        self._unreviewed: Counter[int] = Counter()  # followers of batches without a review
        self._look = Look()
        self._looked = asyncio.Event()
        self._joined = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def batch(self, batch_id: UUID, *, silence: float) -> AsyncGenerator[BatchView | None]:
        """Yield a batch's state at every change, and None after `silence` seconds without a change.

        The generator ends if the batch does not exist.
        """
        with self._follower(self._batches, batch_id):
            seen: Callable[[BatchView], object] = lambda view: BatchStatusView.of(view).seen  # noqa: E731
            async for view in self._changes(lambda look: look.batches.get(batch_id), seen, silence):
                if view is None and batch_id in self._look.asked and batch_id not in self._look.batches:
                    return
                yield view

    async def latest(
        self, limit: int, *, silence: float, of_no_review: bool = False
    ) -> AsyncGenerator[tuple[BatchView, ...] | None]:
        """Yield the latest batches, newest first, at every change, and None after `silence` seconds without a change.

        With `of_no_review`, yield only batches without a review. A change of any latest batch still causes a yield.
        """
        unreviewed = limit if of_no_review else 0

        def listed(look: Look) -> tuple[tuple[BatchView, ...], tuple[BatchView, ...]] | None:
            enough = look.listed >= limit and look.unreviewed >= unreviewed
            return (look.latest[:limit], look.of_no_review[:unreviewed]) if enough else None

        seen: Callable[[tuple[tuple[BatchView, ...], ...]], object] = lambda both: [  # noqa: E731
            [BatchStatusView.of(view).seen for view in views] for views in both
        ]
        with self._follower(self._lists, limit), self._follower(self._unreviewed, unreviewed):
            async for both in self._changes(listed, seen, silence):
                yield None if both is None else both[1] if of_no_review else both[0]

    async def _changes(
        self, pick: Callable[[Look], View | None], seen: Callable[[View], object], silence: float
    ) -> AsyncGenerator[View | None]:
        clock = asyncio.get_running_loop().time
        before, yielded_at = None, clock()
        while not self._stops():
            await self._looked.wait()
            view = pick(self._look)
            if view is not None and (now := seen(view)) != before:
                before, yielded_at = now, clock()
                yield view
            elif clock() - yielded_at >= silence:
                yielded_at = clock()
                yield None

    @contextmanager
    def _follower(self, followers: "Counter[Watched]", watched: Watched) -> Iterator[None]:
        """Count a follower until the end of the `with` block, and let the watcher read at once."""
        followers[watched] += 1
        self._joined.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._look_out())
        try:
            yield
        finally:
            followers[watched] -= 1
            if not followers[watched]:
                del followers[watched]

    async def _look_out(self) -> None:
        """Read until there are no followers."""
        try:
            while self._batches or self._lists:
                self._joined.clear()
                await self._look_once()
                looked, self._looked = self._looked, asyncio.Event()
                looked.set()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_EVERY if self._batches else LIST_EVERY):
                        await self._joined.wait()
        finally:
            self._task = None

    async def _look_once(self) -> None:
        limits = max(self._lists, default=0), max(self._unreviewed, default=0)
        try:
            self._look = await run_in_threadpool(self._ask, frozenset(self._batches), *limits)
        except TamisError:
            pass  # the ledger is away: the next read may succeed
        except Exception:  # a bug: followers keep the last state, and the next read may succeed
            log.exception("batches could not be looked at")


def look(client: Client, batch_ids: frozenset[UUID], limit: int, unreviewed: int) -> Look:
    """Return the batches with these ids, the latest `limit` batches, and the latest `unreviewed` without a review.

    May raise `LedgerUnavailable`.
    """
    with ledger_errors(), client.engine.connect() as connection:
        views = read_views(connection, batch_ids=batch_ids) if batch_ids else []
        latest = read_views(connection, limit=limit) if limit else []
        others = read_views(connection, limit=unreviewed, of_no_review=True) if unreviewed else []
    return Look(batch_ids, {UUID(view.id): view for view in views}, limit, tuple(latest), unreviewed, tuple(others))


def progress(watcher: BatchWatcher, batch_id: UUID) -> AsyncGenerator[str | bytes]:
    """Yield server-sent events with a `BatchStatusView` as JSON: `progress` at every change, then `end`.

    `end` comes when the batch has ended, or is paused until a person corrects something. If the gateway stops, the
    stream ends without `end`, and the follower asks another gateway.
    """

    def event(view: BatchView) -> tuple[str, str]:
        over = view.finished or view.stuck is not None
        return END if over else "progress", BatchStatusView.of(view).model_dump_json()

    return _events(watcher.batch(batch_id, silence=SILENCE), event)


def latest(watcher: BatchWatcher, limit: int, *, of_no_review: bool = False) -> AsyncGenerator[str | bytes]:
    """Yield, at every change, a server-sent event `batches`: a JSON list of `BatchStatusView`, newest first."""

    def event(views: tuple[BatchView, ...]) -> tuple[str, str]:
        return "batches", _standings.dump_json([BatchStatusView.of(view) for view in views]).decode()

    return _events(watcher.latest(limit, silence=LIST_SILENCE, of_no_review=of_no_review), event)


async def _events(
    looks: AsyncGenerator[View | None], event: Callable[[View], tuple[str, str]]
) -> AsyncGenerator[str | bytes]:
    """Yield each state as a server-sent event, until the event `END`. For None, yield a comment.

    `event`: returns the name and the data of a state's event.
    """
    async with aclosing(looks):
        async for view in looks:
            if view is None:
                yield COMMENT
                continue
            name, data = event(view)
            yield f"event: {name}\ndata: {data}\n\n"
            if name == END:
                return
