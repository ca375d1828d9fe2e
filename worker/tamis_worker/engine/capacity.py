"""Capacity: calls at the flex tier (a cheap, slow service tier) wait while the endpoint has no capacity for them.

Lack of capacity is not a rate limit. A refused call costs nothing, calls at other tiers need not wait, and waiting uses
neither an attempt nor the item's deadline. The process tries one call at a time, after waits that double up to a
minute. The other items queue. Each answer raises the limit on calls in flight by one, so the queued calls do not start
all at once.
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

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds between two trial calls
SERVICE_TIER = "service_tier"
FLEX = Tier.FLEX.sent


@dataclass
class Waited:
    """The time that one item has waited for capacity, over all of its questions."""

    since: float | None = None  # by the loop's clock; None: no lack of capacity so far

    def meet(self, now: float) -> None:
        """Record `now` as the start of the lack of capacity. Later calls of this method change nothing."""
        self.since = now if self.since is None else self.since

    def left(self, steering: Steering, now: float) -> float | None:
        """Return the seconds that the item may still wait, or None if it may wait without a limit."""
        if steering.waits:
            return None
        return steering.patience - (0.0 if self.since is None else now - self.since)


class Capacity:
    """A worker process's limits on calls at the flex tier, one for each model. Use the object on one event loop."""

    def __init__(
        self,
        *,
        most: int = 32,
        usual: float = 120.0,
        first: float = FIRST_WAIT,
        longest: float = LONGEST_WAIT,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Prepare the limits on calls.

        Args:
            most: limit on a model's calls in flight while there is capacity.
            usual: seconds that a call at the standard tier may take. Of a longer call at the flex tier, only these
                seconds count against the item's deadline.
            first: seconds to wait after the first call without capacity. The wait doubles up to `longest`.
            longest: the longest wait, in seconds.
            jitter: returns a random number in [0, 1); called for every wait.
        """
        self._usual = usual
        self._waits = _Waits(first, longest, jitter)
        self._rooms: defaultdict[str, _Room] = defaultdict(lambda: _Room(most, self._waits))  # by model
        self._fallen_back = asyncio.Semaphore(most)  # calls at the standard tier, of items whose patience is over
        self.waiting = 0  # items that wait without a call; safe from any thread

    def place_at_once(self, request: ChatRequest, waited: Waited) -> "CallSlot | None":
        """Return a slot (the right to make the call) if the call may begin now. Return None if the call must wait."""
        if request.options.get(SERVICE_TIER) != FLEX:
            return CallSlot(request, None)
        room = self._rooms[request.model]
        place = FlexPlace(request, room, self._usual, waited)
        return place if room.enter_at_once(place) else None

    async def place(self, request: ChatRequest, steering: Steering, waited: Waited) -> "CallSlot":
        """Wait until the call may begin, and return a slot (the right to make the call).

        If the item has waited as long as `steering` allows, the slot is at the standard tier. The end of the slot's
        `with` block releases the slot. A cancelled wait takes no slot.
        """
        if (slot := self.place_at_once(request, waited)) is not None:
            return slot
        room = self._rooms[request.model]
        place = FlexPlace(request, room, self._usual, waited)
        if room.closed:
            waited.meet(_now())
        left = waited.left(steering, _now())
        self.waiting += 1
        try:
            if await room.enter(place, left):
                return place
            # All items whose patience ends at the same moment would call at once.
            await self._fallen_back.acquire()
        finally:
            self.waiting -= 1
        options = {**request.options, SERVICE_TIER: Tier.STANDARD.sent}
        return CallSlot(replace(request, options=options, timeout=None), self._fallen_back.release)


class CallSlot:
    """The right to make one call with `request`. The end of the slot's `with` block releases the slot."""

    def __init__(self, request: ChatRequest, left: Callable[[], None] | None) -> None:
        """Make a slot for `request`. `left` is called once, when the slot is released."""
        self.request = request
        self._left = left

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.leave()

    def leave(self) -> None:
        """Give up the slot, so that the next call may begin. A second call of this method changes nothing."""
        left, self._left = self._left, None
        if left is not None:
            left()

    def heard(self, reply: Reply) -> Reply:
        """Return the reply. This slot is not at the flex tier, so a lack of capacity becomes a usual rate limit."""
        return replace(reply, no_capacity=False) if isinstance(reply, CallError) and reply.no_capacity else reply

    def seconds(self, reply: Reply) -> float:
        """Return the seconds of the call that count against the item's deadline: here the whole duration."""
        return reply.latency_ms / 1000


class FlexPlace(CallSlot):
    """A slot (the right to make one call) at the flex tier, a cheap and slow service tier."""

    def __init__(self, request: ChatRequest, room: "_Room", usual: float, waited: Waited) -> None:
        super().__init__(request, lambda: room.left(self))
        self._room = room
        self._usual = usual
        self._waited = waited

    def heard(self, reply: Reply) -> Reply:
        """Return the reply unchanged, and record whether there was capacity."""
        if isinstance(reply, CallError) and reply.no_capacity:
            self._room.refused(self, reply.retry_after)
            self._waited.meet(_now())
        elif isinstance(reply, ChatAnswer):
            self._room.answered(self)
        return reply

    def seconds(self, reply: Reply) -> float:
        """Return the seconds of the call that count against the item's deadline.

        The flex tier is slow, so at most the seconds that a call at the standard tier may take are counted.
        """
        return min(super().seconds(reply), self._usual)


@dataclass(frozen=True)
class _Waits:
    first: float
    longest: float
    jitter: Callable[[], float]

    def after(self, refusals: int, retry_after: float | None) -> float:
        """Return the seconds to wait after n `refusals` in a row: r x min(longest, first x 2^(n-1)).

        r is a random number from 0.5 to 1. If the endpoint requests a longer wait, return the requested wait, up to
        `longest`.
        """
        doubled = min(self.longest, self.first * 2.0 ** min(refusals - 1, 64))
        return max(doubled * (0.5 + 0.5 * self.jitter()), min(retry_after or 0.0, self.longest))


class _Room:
    """The limit on one model's calls at the flex tier. After a refusal for lack of capacity, calls wait for a while."""

    def __init__(self, most: int, waits: _Waits) -> None:
        self._most = most
        self._waits = waits
        self._allowed = most
        self._inside: set[FlexPlace] = set()  # begun since the last refusal: older calls show nothing new
        self._refusals = 0  # in a row
        self._closed_until = 0.0  # by the loop's clock
        self._line = asyncio.Lock()  # first come, first served; its holder checks, the others wait
        self._queued = 0  # in the queue, including the holder
        self._moved = asyncio.Event()

    def enter_at_once(self, place: FlexPlace) -> bool:
        """Take a slot and return True if the call may begin now. If not, or if other calls wait, return False."""
        if self._queued or self._closed_for() > 0 or len(self._inside) >= self._allowed:
            return False
        self._inside.add(place)
        return True

    @property
    def closed(self) -> bool:
        """True if the last trial call found no capacity."""
        return self._refusals > 0

    async def enter(self, place: FlexPlace, left: float | None) -> bool:
        """Wait, take a slot and return True. Return False if `left` seconds pass without capacity.

        If `left` is None, wait without a limit.
        """
        self._queued += 1
        try:
            while not (self.closed and left is not None and left <= 0):
                # While there is capacity, the call waits for its turn as at any other tier, and checks occasionally.
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
            self._queued -= 1

    def refused(self, place: FlexPlace, retry_after: float | None) -> None:
        """Record a refusal, and admit no call for a while. If several calls are refused, only the first one counts."""
        if place not in self._inside:
            return
        self._inside.clear()
        self._refusals += 1
        self._allowed = 1
        self._closed_until = _now() + self._waits.after(self._refusals, retry_after)
        self._moved.set()

    def answered(self, place: FlexPlace) -> None:
        """Raise the limit on calls in flight by one after an answer.

        If another call was refused since this call began, the limit stays.
        """
        if place not in self._inside:
            return
        self._refusals = 0
        self._allowed = min(self._most, self._allowed + 1)

    def left(self, place: FlexPlace) -> None:
        """Admit the next call after the end of a call."""
        self._inside.discard(place)
        self._moved.set()

    def _closed_for(self) -> float:
        return max(0.0, self._closed_until - _now())


def _now() -> float:
    return asyncio.get_running_loop().time()
