"""The circuit breaker of a key: whether an endpoint takes it for a model, and how often it was refused.

Closed, every call is made. It opens with a refusal, and is open at the start and after a minute without an answer.
While it is not closed one trial call at a time is made (half open), so that of a key that is wrong or a model that is
unknown few calls are burned, however many items are in flight.
"""

import asyncio
import math

from tamis_schemas import ErrorKind

from ..event_loop.loop import wait_within
from ..llm.chat import ChatAnswer, Reply
from .retry import TRANSIENT

# A key is refused at the door: whoever waits behind a trial call waits no longer than this.
PATIENCE = 3.0  # seconds
SPACING = 0.5  # seconds between a refusal and the next trial: a key server that stumbles for a moment pauses nothing
FRESH = 60.0  # seconds; an answer that is older says nothing of the key as it is now


class KeyCircuitBreaker:
    """The breaker of one model; one per worker process, on one event loop."""

    def __init__(self, *, patience: float = PATIENCE, spacing: float = SPACING, fresh: float = FRESH) -> None:
        self._patience = patience
        self._spacing = spacing
        self._fresh = fresh
        self._closed_until = -math.inf  # by the loop's clock; a call was answered since the last refusal
        self._refused = 0  # calls ever; tells whether one was refused since another one began
        self._in_a_row = 0
        self._forbidden = 0  # in a row, of those that may be one item's own fault
        self._next_trial = 0.0  # not before, by the loop's clock
        self._trial: Admission | None = None  # half open: whose call finds out
        self._moved = asyncio.Event()  # set, and replaced, whenever something of this changes

    @property
    def state(self) -> str:
        """closed, half open or open, in the words at the top of this file; on the loop."""
        if self._is_closed():
            return "closed"
        return "open" if self._trial is None else "half open"

    def admit_at_once(self) -> "Admission | None":
        """The admission of a call while the breaker is closed; None: it is to be waited for."""
        return Admission(self) if self._is_closed() else None

    async def admit(self) -> "Admission":
        """The admission of a call: at once while the breaker is closed, else when no trial call is in flight."""
        clock = asyncio.get_running_loop().time
        while not self._is_closed() and self._trial is not None:
            left = self._trial.began + self._patience - clock() if self._trial.began else None
            if left is not None and left <= 0:
                return Admission(self)
            await wait_within(self._moved, left)
        admission = Admission(self)
        if not self._is_closed():
            self._trial = admission
            try:
                await asyncio.sleep(max(0.0, self._next_trial - clock()))
            except asyncio.CancelledError:
                self._leave(admission)
                raise
        return admission

    def _record(self, reply: Reply, refused_before: int) -> int:
        if isinstance(reply, ChatAnswer) or (reply.status == 200 and reply.kind is not ErrorKind.SERVER):
            self._forbidden = 0
            if refused_before == self._refused:  # an older call says nothing of the key as it is now
                self._in_a_row = 0
                self._close()
            return 0
        if reply.everyone:
            self._refused += 1
            self._in_a_row += 1
            self._closed_until = -math.inf
            self._next_trial = asyncio.get_running_loop().time() + self._spacing
            return self._in_a_row
        if reply.kind is ErrorKind.PERMISSION:
            self._forbidden += 1
            return self._forbidden
        if reply.kind not in TRANSIENT and self._in_a_row == 0:
            self._close()  # it was heard, and refused for what it says
        return 0

    def _is_closed(self) -> bool:
        return asyncio.get_running_loop().time() < self._closed_until

    def _close(self) -> None:
        was_closed = self._is_closed()
        self._closed_until = asyncio.get_running_loop().time() + self._fresh
        if not was_closed:
            self._move()

    def _leave(self, admission: "Admission") -> None:
        if self._trial is admission:
            self._trial = None
            self._move()

    def _move(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()


class Admission:
    """The leave to make one call; left with its context, and then whoever waits is let in."""

    __slots__ = ("_breaker", "_refused_before", "began")

    def __init__(self, breaker: KeyCircuitBreaker) -> None:
        self._breaker = breaker
        self._refused_before = 0
        self.began = 0.0  # by the loop's clock; 0: the call has not begun

    def __enter__(self) -> "Admission":
        return self

    def __exit__(self, *exc: object) -> None:
        self._breaker._leave(self)

    def begin(self) -> None:
        """The call is being made."""
        self._refused_before = self._breaker._refused
        self.began = asyncio.get_running_loop().time()
        if self._breaker._trial is self:
            self._breaker._move()  # those who wait may count from here

    def record(self, reply: Reply) -> int:
        """Take note of the reply; how many calls in a row were refused like this one, whoever made them, or 0."""
        return self._breaker._record(reply, self._refused_before)
