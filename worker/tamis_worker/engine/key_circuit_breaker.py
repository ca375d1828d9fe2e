"""Whether an endpoint takes the worker's key and a model: the gate before the calls, and how often it was refused.

Until one call was answered, calls are made one at a time: where the key is wrong or the model unknown, few of them are
burned, however many items are in flight. A refusal closes the gate again, and so does a minute without an answer.
"""

import asyncio
import math
from contextlib import suppress

from tamis_schemas import ErrorKind

from ..llm.chat import Answer, Reply
from .retry import TRANSIENT

# A key is refused at the door: whoever waits behind a call that was let in waits no longer than this.
PATIENCE = 3.0  # seconds
SPACING = 0.5  # seconds between two refusals: a key server that stumbles for a moment pauses nothing
FRESH = 60.0  # seconds; an answer that is older says nothing of the key as it is now


class KeyCircuitBreaker:
    """Of one model; one per worker process, on one event loop."""

    def __init__(self, *, patience: float = PATIENCE, spacing: float = SPACING, fresh: float = FRESH) -> None:
        self._patience = patience
        self._spacing = spacing
        self._fresh = fresh
        self._open_until = -math.inf  # by the loop's clock; a call was answered since the last refusal
        self._refused = 0  # calls ever; tells whether one was refused since another one began
        self._in_a_row = 0
        self._forbidden = 0  # in a row, of those that may be one item's own fault
        self._not_before = 0.0  # by the loop's clock
        self._first: Turn | None = None  # whose call finds out, while the gate is closed
        self._moved = asyncio.Event()  # set, and replaced, whenever something of this changes

    def turn_at_once(self) -> "Turn | None":
        """The turn to make a call, while the gate is open; None: it is to be waited for."""
        return Turn(self) if self._is_open() else None

    async def turn(self) -> "Turn":
        """The turn to make a call: at once while the gate is open, else when no other call is finding out."""
        clock = asyncio.get_running_loop().time
        while not self._is_open() and self._first is not None:
            left = self._first.began + self._patience - clock() if self._first.began else None
            if left is not None and left <= 0:
                return Turn(self)
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._moved.wait()
        turn = Turn(self)
        if not self._is_open():
            self._first = turn
            try:
                await asyncio.sleep(max(0.0, self._not_before - clock()))
            except asyncio.CancelledError:
                self._leave(turn)
                raise
        return turn

    def _heard(self, reply: Reply, refused_before: int) -> int:
        if isinstance(reply, Answer) or (reply.status == 200 and reply.kind is not ErrorKind.SERVER):
            self._forbidden = 0
            if refused_before == self._refused:  # an older call says nothing of the key as it is now
                self._in_a_row = 0
                self._open()
            return 0
        if reply.everyone:
            self._refused += 1
            self._in_a_row += 1
            self._open_until = -math.inf
            self._not_before = asyncio.get_running_loop().time() + self._spacing
            return self._in_a_row
        if reply.kind is ErrorKind.PERMISSION:
            self._forbidden += 1
            return self._forbidden
        if reply.kind not in TRANSIENT and self._in_a_row == 0:
            self._open()  # it was heard, and refused for what it says
        return 0

    def _is_open(self) -> bool:
        return asyncio.get_running_loop().time() < self._open_until

    def _open(self) -> None:
        was_open = self._is_open()
        self._open_until = asyncio.get_running_loop().time() + self._fresh
        if not was_open:
            self._move()

    def _leave(self, turn: "Turn") -> None:
        if self._first is turn:
            self._first = None
            self._move()

    def _move(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()


class Turn:
    """The leave to make one call; left with its context, and then whoever waits is let in."""

    __slots__ = ("_access", "_refused_before", "began")

    def __init__(self, access: KeyCircuitBreaker) -> None:
        self._access = access
        self._refused_before = 0
        self.began = 0.0  # by the loop's clock; 0: the call has not begun

    def __enter__(self) -> "Turn":
        return self

    def __exit__(self, *exc: object) -> None:
        self._access._leave(self)

    def begin(self) -> None:
        """The call is being made."""
        self._refused_before = self._access._refused
        self.began = asyncio.get_running_loop().time()
        if self._access._first is self:
            self._access._move()  # those who wait may count from here

    def heard(self, reply: Reply) -> int:
        """How many calls in a row were refused like this one, whoever made them; 0: it was not refused."""
        return self._access._heard(reply, self._refused_before)
