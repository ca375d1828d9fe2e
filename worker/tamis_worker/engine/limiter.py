"""The rate limit that all worker processes share: requests and tokens per minute, and calls in flight.

One Lua script on Redis decides (`limiter.lua`; its arithmetic is in `limit_arithmetic`), by the clock of the server.
One coroutine per process, endpoint and model, the pump, speaks to it: it gathers who waits and what came back, so
that one round trip serves many calls.

Waiting is all that can happen to a caller. While Redis is away nothing is granted, and the pump tries again by itself.
"""

import asyncio
import logging
import math
import secrets
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from .limit_arithmetic import request_pace, token_pace

SCRIPT = Path(__file__).with_name("limiter.lua").read_text("utf-8")

# All times are in seconds.
GATHER = 0.01  # between two calls of the script; what happens meanwhile goes into one
FIRST_POLL, LAST_POLL = 0.05, 0.25  # while others hold what we wait for: nobody tells us when they give it back
FIRST_RETRY, LAST_RETRY = 0.05, 1.0
REPLY_WITHIN = 5.0  # a server that takes longer is away; the same call is made again
CLOSE_WITHIN = 2.0
MICROSECONDS = 1_000_000

AWAY = (RedisError, OSError, TimeoutError)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """Of one model at one endpoint, for all processes together. None: no limit of that kind."""

    rpm: int | None
    tpm: int | None
    concurrency: int


@dataclass(frozen=True, eq=False)
class Permit:
    """The right to make one call; give it back with `Limiter.release`."""

    estimate: int  # tokens reserved


@dataclass(eq=False)
class _Waiter:
    estimate: int
    permit: asyncio.Future[Permit]


@dataclass(frozen=True)
class _Reply:
    granted: int
    wait: float | None  # seconds until asking again makes sense; None: until somebody gives a permit back


@dataclass(frozen=True)
class _Call:
    """What is told and asked in one round trip. Sent again unchanged where no reply comes: the script knows it."""

    name: str
    lease: float
    held: int
    settle: int
    waiting: int = 0
    estimates: Sequence[int] = field(default=())

    def arguments(self, holder: str, limits: Limits, block: float) -> list[str | int | float]:
        requests, tokens = request_pace(limits.rpm), token_pace(limits.tpm)
        return [
            holder,
            self.name,
            math.ceil(self.lease * MICROSECONDS),
            self.held,
            self.waiting,
            self.settle,
            math.ceil(block * MICROSECONDS),
            limits.concurrency,
            requests.interval,
            requests.burst,
            tokens.interval,
            tokens.burst,
            *self.estimates,
        ]


class Limiter:
    """One per process, endpoint and model; open from `start` to `close`, on one event loop.

    `holder` names the process and must be its own. A process that is silent for `lease` seconds loses what it holds.
    """

    def __init__(self, redis: "Redis", key: str, limits: Limits, *, holder: str, lease: float = 15.0) -> None:
        self.limits = limits  # may be replaced at any time
        self._script = redis.register_script(SCRIPT)
        self._keys = [f"{key}:rate", f"{key}:holders"]
        self._holder = holder
        self._lease = lease
        # A process that starts anew under the same holder must not be taken for a repetition of the old one.
        self._names = (f"{tag}-{number}" for tag in [secrets.token_hex(4)] for number in count())

        self._waiting: deque[_Waiter] = deque()
        self._out: set[Permit] = set()
        self._settle = 0  # tokens used beyond what was estimated, not yet told; negative: to be given back
        self._blocked_until = -math.inf  # by this loop's clock; told again with every call, so that it survives a wipe
        self._blocks_to_tell: list[asyncio.Future[None]] = []

        self._open = False
        self._pump: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._news = False  # something to tell, or somebody to ask for
        self._sent_at = -math.inf
        self._ask_at: float | None = None  # when to ask again for those who wait; None: whenever somebody comes
        self._poll = FIRST_POLL
        self._away = False

    async def start(self) -> None:
        """Begin to hold the lease and to serve."""
        self._open = True
        self._pump = asyncio.create_task(self._run(), name=f"limiter {self._keys[0]}")

    async def close(self) -> None:
        """Give everything back; whoever still waits is cancelled. Without Redis, the lease runs out by itself."""
        if self._pump is None or not self._open:
            return
        self._open = False
        self._wake.set()
        # The pump ends by itself after its turn. It is cancelled only where Redis keeps it: redis-py may swallow a
        # cancellation (its `wait_for` does so before Python 3.12), hence again and again.
        patience = 0.0 if self._away else CLOSE_WITHIN
        while not self._pump.done():
            await asyncio.wait([self._pump], timeout=patience)
            self._pump.cancel()
            patience = FIRST_RETRY
        for waiter in self._waiting:
            waiter.permit.cancel()
        self._waiting.clear()
        self._out.clear()
        leaving = _Call(name=next(self._names), lease=0, held=0, settle=self._settle)
        try:
            async with asyncio.timeout(CLOSE_WITHIN):
                await self._script(
                    keys=self._keys, args=leaving.arguments(self._holder, self.limits, self._still_blocked())
                )
        except AWAY as error:
            log.warning("the limiter's permits come back when its lease is over: %s", error)
        for told in self._blocks_to_tell:
            if not told.done():
                told.set_result(None)
        self._blocks_to_tell.clear()

    async def acquire(self, estimate: int) -> Permit:
        """A permit for one call that will take about `estimate` tokens; waits for it as long as it takes.

        Served in the order of asking; may be cancelled at any time. Raises `RuntimeError` where it is not open.
        """
        if not self._open:
            raise RuntimeError("the limiter is not open: nothing can be granted")
        waiter = _Waiter(max(0, estimate), asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        if self._ask_at is None:
            self._tell()
        try:
            return await waiter.permit
        except asyncio.CancelledError:
            if waiter.permit.cancelled():
                self._tell()  # others may reckon with one who waits no longer
            else:  # granted and cancelled in the same moment
                await self.release(waiter.permit.result(), 0)
            raise

    async def release(self, permit: Permit, used: int | None) -> None:
        """Give a permit back, with the tokens that the call used; None: not known, the estimate stands.

        Does not wait for Redis. A second release of one permit changes nothing.
        """
        if permit not in self._out:
            return
        self._out.remove(permit)
        if used is not None:
            self._settle += used - permit.estimate
        self._tell()

    async def block(self, seconds: float) -> None:
        """Grant nobody anything under this key for so long; returns when Redis knows. Never shortens a block."""
        until = asyncio.get_running_loop().time() + seconds
        if not self._open or seconds <= 0:
            return
        self._blocked_until = max(self._blocked_until, until)
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._blocks_to_tell.append(told)
        self._tell()
        await told

    def _tell(self) -> None:
        if not self._news:
            self._news = True
            self._wake.set()

    def _still_blocked(self) -> float:
        return max(0.0, self._blocked_until - asyncio.get_running_loop().time())

    async def _run(self) -> None:
        while True:
            await self._until_due()
            if not self._open:
                return
            try:
                await self._exchange()
            except Exception:
                # A fault of ours, not of Redis. Those who wait go on waiting, and the next turn may serve them;
                # without this, they would wait for a pump that is dead.
                log.exception("the limiter failed in one turn and goes on")
                self._news = True

    async def _until_due(self) -> None:
        clock = asyncio.get_running_loop().time
        while self._open and (pause := self._due() - clock()) > 0:
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()

    def _due(self) -> float:
        if self._news:
            return self._sent_at + GATHER
        soonest = self._sent_at + self._lease / 3
        if self._waiting and self._ask_at is not None:
            soonest = min(soonest, self._ask_at)
        return max(soonest, self._sent_at + GATHER)

    async def _exchange(self) -> None:
        """One round trip: tell, ask, and hand on what was granted."""
        clock = asyncio.get_running_loop().time
        self._news = False
        self._sent_at = clock()
        while self._waiting and self._waiting[0].permit.done():
            self._waiting.popleft()
        asked = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._room()))]
        call = _Call(
            name=next(self._names),
            lease=self._lease,
            held=len(self._out),
            settle=self._settle,
            waiting=len(asked) + sum(not waiter.permit.done() for waiter in self._waiting),
            estimates=[waiter.estimate for waiter in asked],
        )
        self._settle = 0
        blocks, self._blocks_to_tell = self._blocks_to_tell, []
        served = 0
        try:
            reply = await self._reply_to(call)
            served = reply.granted
        except BaseException:
            # Whether the call arrived is unknown. To owe twice is safe, to be given back twice is not.
            self._settle += max(0, call.settle)
            self._blocks_to_tell += blocks
            raise
        finally:
            self._waiting.extendleft(reversed(asked[served:]))
        for told in blocks:
            if not told.done():
                told.set_result(None)
        for waiter in asked[:served]:
            self._hand_over(waiter)
        self._plan(reply)

    async def _reply_to(self, call: _Call) -> _Reply:
        """The script's answer, however long Redis is away."""
        pause = FIRST_RETRY
        while True:
            arguments = call.arguments(self._holder, self.limits, self._still_blocked())
            try:
                async with asyncio.timeout(REPLY_WITHIN):
                    granted, wait, _ = await self._script(keys=self._keys, args=arguments)
                break
            except AWAY as error:
                if not self._away:
                    log.warning("nothing is granted until the limiter's Redis answers: %s", error)
                self._away = True
                await asyncio.sleep(pause)
                pause = min(2 * pause, LAST_RETRY)
        if self._away:
            log.warning("the limiter's Redis answers again")
        self._away = False
        return _Reply(granted=int(granted), wait=None if wait < 0 else wait / MICROSECONDS)

    def _hand_over(self, waiter: _Waiter) -> None:
        if waiter.permit.done():  # cancelled while the call was on its way
            self._settle -= waiter.estimate
            self._tell()
            return
        permit = Permit(waiter.estimate)
        self._out.add(permit)
        waiter.permit.set_result(permit)

    def _plan(self, reply: _Reply) -> None:
        """When to ask again for those who still wait."""
        now = asyncio.get_running_loop().time()
        if reply.granted > 0:
            self._poll = FIRST_POLL
        if not self._waiting:
            self._ask_at = None
        elif self._room() == 0:
            self._ask_at = math.inf  # nothing to ask for before one of our own permits comes back
        elif reply.wait is None:
            self._ask_at = now + self._poll
            self._poll = min(2 * self._poll, LAST_POLL)
        else:
            self._ask_at = now + reply.wait

    def _room(self) -> int:
        return max(0, self.limits.concurrency - len(self._out))
