"""The circuit breaker of a model: it limits calls while the endpoint refuses the API key or the model.

While the breaker is closed, every call is made. A refusal opens the breaker. The breaker is also open at the start, and
after a minute without an answer. Then one trial call at a time is made (half open), until an answer closes the breaker.
So a wrong key or an unknown model costs few calls.
"""

import asyncio
import math

from tamis_schemas import ErrorKind

from ..event_loop.loop import wait_within
from ..llm.chat import ChatAnswer, Reply
from .retry import TRANSIENT

# An endpoint refuses a key at once, so waiting for a trial call ends after this time.
PATIENCE = 3.0  # seconds
SPACING = 0.5  # seconds between a refusal and the next trial, so that a brief fault of a key server pauses nothing
FRESH = 60.0  # seconds; an older answer does not show the present state of the key


class KeyCircuitBreaker:
    """The circuit breaker of one model in one worker process, on one event loop."""

    def __init__(self, *, patience: float = PATIENCE, spacing: float = SPACING, fresh: float = FRESH) -> None:
        self._patience = patience
        self._spacing = spacing
        self._fresh = fresh
        self._closed_until = -math.inf  # by the loop's clock; after an answer since the last refusal
        self._refused = 0  # calls ever; shows whether there was a refusal since a call began
        self._in_a_row = 0
        self._forbidden = 0  # in a row, possibly the fault of an item
        self._next_trial = 0.0  # earliest time, by the loop's clock
        self._trial: Admission | None = None  # half open: the trial call
        self._moved = asyncio.Event()  # set and replaced at every change

    @property
    def state(self) -> str:
        """The state: closed, half open or open, as defined at the top of this file. Read it on the loop only."""
        if self._is_closed():
            return "closed"
        return "open" if self._trial is None else "half open"

    def admit_at_once(self) -> "Admission | None":
        """Return the admission of a call if the breaker is closed, else None."""
        return Admission(self) if self._is_closed() else None

    async def admit(self) -> "Admission":
        """Wait until the call may begin, and return its admission.

        The call may begin if the breaker is closed, no trial call is in flight, or the trial has lasted `patience`
        seconds.
        """
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
            if refused_before == self._refused:  # an older call does not show the present state of the key
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
            self._close()  # the endpoint accepted the key, but not the request
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
    """The right to make one call. The end of its context admits the next call."""

    __slots__ = ("_breaker", "_refused_before", "began")

    def __init__(self, breaker: KeyCircuitBreaker) -> None:
        self._breaker = breaker
        self._refused_before = 0
        self.began = 0.0  # by the loop's clock; 0: not yet begun

    def __enter__(self) -> "Admission":
        return self

    def __exit__(self, *exc: object) -> None:
        self._breaker._leave(self)

    def begin(self) -> None:
        """Record that the call begins."""
        self._refused_before = self._breaker._refused
        self.began = asyncio.get_running_loop().time()
        if self._breaker._trial is self:
            self._breaker._move()  # the waiting calls can measure their patience from now on

    def record(self, reply: Reply) -> int:
        """Record the reply. Return the number of calls in a row that were refused like this call; 0: not refused."""
        return self._breaker._record(reply, self._refused_before)
