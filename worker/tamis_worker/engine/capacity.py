"""Capacity: how calls at the flex tier wait while the endpoint has no room for them.

No capacity is no rate limit: nothing was paid, nobody else has to wait, and waiting costs neither an attempt nor any of
the item's deadline. While there is none, one call of the process at a time finds out whether there is again, after
waits that double up to a minute; the items behind it stand in a line. With every answer one more call is let in, so
what has waited does not come all at once.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from tamis_schemas import Steering, Tier

from ..event_loop.loop import wait_within
from ..llm.chat import CallError, ChatAnswer, ChatRequest, Reply

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds between two calls that find out
SERVICE_TIER = "service_tier"
FLEX = Tier.FLEX.sent


@dataclass
class Waited:
    """The time for which one item has met no capacity, over all of its questions."""

    since: float | None = None  # by the loop's clock; None: it has met none

    def meet(self, now: float) -> None:
        """Note that there is no capacity; only the first time counts."""
        self.since = now if self.since is None else self.since

    def left(self, steering: Steering, now: float) -> float | None:
        """Seconds that it may still wait; None: for ever."""
        if steering.waits:
            return None
        return steering.patience - (0.0 if self.since is None else now - self.since)


class Capacity:
    """The rooms of all models at the flex tier; one per worker process, on one event loop."""

    def __init__(
        self,
        *,
        most: int = 32,
        usual: float = 120.0,
        first: float = FIRST_WAIT,
        longest: float = LONGEST_WAIT,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """
        Args:
            most: calls in flight at once, where there is capacity.
            usual: seconds that a call at the standard tier may take; a deadline counts no more of a slow one.
            first: the wait after the first call without capacity, in seconds; it doubles up to `longest`.
            longest: no wait is longer.
            jitter: in [0, 1), drawn anew for every wait.
        """
        self._usual = usual
        self._waits = _Waits(first, longest, jitter)
        self._rooms: defaultdict[str, _Room] = defaultdict(lambda: _Room(most, self._waits))  # by model
        self._fallen_back = asyncio.Semaphore(most)  # calls of items whose patience is over, at the standard tier
        self.waiting = 0  # items that stand aside now, without a call; may be asked from any thread

    def place_at_once(self, request: ChatRequest, waited: Waited) -> "CallSlot | None":
        """The place for one call at a tier that has room now; None: it is to be waited for."""
        if not is_flex(request):
            return CallSlot(request, None)
        room = self._rooms[request.model]
        place = FlexPlace(request, room, self._usual, waited)
        return place if room.enter_at_once(place) else None

    async def place(self, request: ChatRequest, steering: Steering, waited: Waited) -> "CallSlot":
        """The place for one call, once its tier has room; at the standard tier where the item has waited enough.

        Leave it with its context. Cancelled meanwhile, no place is taken.
        """
        if (at_once := self.place_at_once(request, waited)) is not None:
            return at_once
        room = self._rooms[request.model]
        place = FlexPlace(request, room, self._usual, waited)
        if room.closed:
            waited.meet(_now())
        left = waited.left(steering, _now())
        self.waiting += 1
        try:
            if await room.enter(place, left):
                return place
            # All whose patience is over at the same moment would call at once.
            await self._fallen_back.acquire()
        finally:
            self.waiting -= 1
        return CallSlot(at_standard(request), self._fallen_back.release)


class CallSlot:
    """The leave to make one call, and the request as it is to be made; left with its context."""

    def __init__(self, request: ChatRequest, left: Callable[[], None] | None) -> None:
        """`left` is called once, when the place is left."""
        self.request = request
        self._left = left

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.leave()

    def leave(self) -> None:
        """Let the next one in; a second time changes nothing."""
        left, self._left = self._left, None
        if left is not None:
            left()

    def heard(self, reply: Reply) -> Reply:
        """Take note of a reply; at another tier than flex "no capacity" is a rate limit like any other."""
        return replace(reply, no_capacity=False) if isinstance(reply, CallError) and reply.no_capacity else reply

    def seconds(self, reply: Reply) -> float:
        """The seconds that a call takes of its item's deadline."""
        return reply.latency_ms / 1000


class FlexPlace(CallSlot):
    """A place at the flex tier."""

    def __init__(self, request: ChatRequest, room: "_Room", usual: float, waited: Waited) -> None:
        super().__init__(request, lambda: room.left(self))
        self._room = room
        self._usual = usual
        self._waited = waited

    def heard(self, reply: Reply) -> Reply:
        """Take note of whether there was capacity."""
        if isinstance(reply, CallError) and reply.no_capacity:
            self._room.refused(self, reply.retry_after)
            self._waited.meet(_now())
        elif isinstance(reply, ChatAnswer):
            self._room.answered(self)
        return reply

    def seconds(self, reply: Reply) -> float:
        """No more than a usual call may take: that this one was slow is its tier's doing."""
        return min(super().seconds(reply), self._usual)


@dataclass(frozen=True)
class _Waits:
    first: float
    longest: float
    jitter: Callable[[], float]

    def after(self, refusals: int, retry_after: float | None) -> float:
        """Seconds after so many refusals in a row, from half to the whole of a doubling wait, or as asked for."""
        doubled = min(self.longest, self.first * 2.0 ** min(refusals - 1, 64))
        return max(doubled * (0.5 + 0.5 * self.jitter()), min(retry_after or 0.0, self.longest))


class _Room:
    """The room of one model: how many calls may be in flight, and since when there is no capacity."""

    def __init__(self, most: int, waits: _Waits) -> None:
        self._most = most
        self._waits = waits
        self._allowed = most
        self._inside: set[FlexPlace] = set()  # that began since the last refusal: older calls say nothing of now
        self._refusals = 0  # in a row
        self._closed_until = 0.0  # by the loop's clock
        self._line = asyncio.Lock()  # first come, first served; its holder looks, the others stand behind
        self._standing = 0  # in the line, its holder among them
        self._moved = asyncio.Event()

    def enter_at_once(self, place: FlexPlace) -> bool:
        """True where the place is taken; never past somebody who waits."""
        if self._standing or self._closed_for() > 0 or len(self._inside) >= self._allowed:
            return False
        self._inside.add(place)
        return True

    @property
    def closed(self) -> bool:
        """True where the last call that found out found no capacity."""
        return self._refusals > 0

    async def enter(self, place: FlexPlace, left: float | None) -> bool:
        """True once the place is taken; False where `left` seconds are over and there is no capacity."""
        self._standing += 1
        try:
            while not (self.closed and left is not None and left <= 0):
                # While there is capacity it waits for its turn, as it would at any other tier, and looks now and then.
                limit = left if left is None or left > 0 else self._waits.longest
                try:
                    async with asyncio.timeout(limit), self._line:
                        while (closed := self._closed_for()) > 0 or len(self._inside) >= self._allowed:
                            self._moved.clear()
                            await wait_within(self._moved, closed or None)
                        self._inside.add(place)
                        return True
                except TimeoutError:
                    left = 0.0
            return False
        finally:
            self._standing -= 1

    def refused(self, place: FlexPlace, retry_after: float | None) -> None:
        """Close the room to new calls; of many calls that began together only the first makes the wait longer."""
        if place not in self._inside:
            return
        self._inside.clear()
        self._refusals += 1
        self._allowed = 1
        self._closed_until = _now() + self._waits.after(self._refusals, retry_after)
        self._moved.set()

    def answered(self, place: FlexPlace) -> None:
        """Let one more in after an answer at this tier, unless another call was refused since this one began."""
        if place not in self._inside:
            return
        self._refusals = 0
        self._allowed = min(self._most, self._allowed + 1)

    def left(self, place: FlexPlace) -> None:
        """Let the next one in after a call has ended."""
        self._inside.discard(place)
        self._moved.set()

    def _closed_for(self) -> float:
        return max(0.0, self._closed_until - _now())


def is_flex(request: ChatRequest) -> bool:
    """Whether a request asks for the tier that may have no room."""
    return request.options.get(SERVICE_TIER) == FLEX


def at_standard(request: ChatRequest) -> ChatRequest:
    """The same request at the standard tier, in the time that a call there may take."""
    return replace(request, options={**request.options, SERVICE_TIER: Tier.STANDARD.sent}, timeout=None)


def _now() -> float:
    return asyncio.get_running_loop().time()
