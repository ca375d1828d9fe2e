"""The rate limit that all worker processes share: requests and tokens per minute, and calls in flight.

A Lua script on Redis decides, by the clock of the server (`script`, `limiter.lua`). `gcra` proves that the limit holds.
For each endpoint and model, a process has one coroutine, the pump, which exchanges messages with the script. The
process begins calls with its permits, without asking Redis for each call (`allotment`). Waiting calls get the permits
by the priority of their batches (`fair_queue`).

If a permit cannot be granted, the caller waits. While Redis is down, only permits from earlier replies are used. They
last less than a second. The pump retries by itself.

Each model has its own limiter, made at its first call, so models never slow each other down.
"""

import asyncio
import logging
import math
import secrets
from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass, field
from itertools import count

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tamis_producer.transport.broker import what_is_wrong
from tamis_schemas import Priority
from tamis_schemas.batches import wire

from ..event_loop.loop import end_tasks, wait_within
from .allotment import NO_DEMAND, Demand, LocalAllotment
from .fair_queue import FairQueue, Waiter
from .rate_headers import RateHeaders
from .script import SCRIPT, LimiterReply, LimiterRequest, Limits

__all__ = ["Limiter", "Limits", "Permit"]

# All times are in seconds.
FIRST_RETRY, LAST_RETRY = 0.05, 1.0
REPLY_WITHIN = 5.0  # a slower server counts as down; the same request is sent again
CLOSE_WITHIN = 2.0

AWAY = (RedisError, OSError, TimeoutError)

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, slots=True)
class Permit:
    """The right to make one call. After the call, pass the permit to `Limiter.release`."""

    estimate: int  # tokens reserved


class Limiter:
    """The limiter of one process, endpoint and model. The limiter is open from `start` to `close`, on one event loop.

    `holder` must be unique to the process. A process that sends no request for `lease` seconds loses its share.
    Properties may be read from any thread.
    """

    def __init__(self, redis: "Redis", key: str, limits: Limits, *, holder: str, lease: float = 15.0) -> None:
        self.limits = limits  # may be replaced at any time
        self._script = redis.register_script(SCRIPT)
        self._keys = [f"{key}:rate", f"{key}:holders"]
        self._holder = holder
        # A restarted process with the same holder must not look like a repetition of the old one.
        self._names = (f"{tag}-{number}" for tag in [secrets.token_hex(4)] for number in count())

        self._queue = FairQueue[Permit]()
        self._allotment = LocalAllotment(lease)
        self._in_flight: set[Permit] = set()
        self._blocks_to_send: list[asyncio.Future[None]] = []

        self._open = False
        self._pump: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._planned = math.inf  # when the pump plans its next request
        self._alarm: asyncio.TimerHandle | None = None  # for the next due permit
        self._away = False
        self._asked_at = -math.inf

    async def start(self) -> None:
        """Open the limiter: begin to exchange messages with Redis."""
        self._clock = asyncio.get_running_loop().time
        self._open = True
        self._pump = asyncio.create_task(self._run(), name=f"limiter {self._keys[0]}")

    async def close(self) -> None:
        """Release all slots and permits, and cancel waiting calls. If Redis is down, the lease expires by itself."""
        if self._pump is None or not self._open:
            return
        self._open = False
        self._wake.set()
        # The pump ends after its turn. It is cancelled only if Redis delays it.
        await asyncio.wait([self._pump], timeout=0.0 if self._away else CLOSE_WITHIN)
        await end_tasks(self._pump)
        if self._alarm is not None:
            self._alarm.cancel()
        for waiter in self._queue.drain():
            waiter.future.cancel()
        self._in_flight.clear()
        try:
            async with asyncio.timeout(CLOSE_WITHIN):
                last = self._allotment.release_all(next(self._names))
                await self._script(keys=self._keys, args=self._arguments(last))
        except AWAY as error:
            log.warning("the limiter's permits are released when its lease ends: %s", error)
        self._resolve(self._blocks_to_send)

    async def acquire(self, estimate: int, *, batch: Hashable = None, priority: Priority = Priority.NORMAL) -> Permit:
        """Wait for a permit for one call of about `estimate` tokens, without a time limit, and return the permit.

        Within a batch, calls are served in order of arrival; between batches, by priority. The wait may be cancelled.
        Raise `RuntimeError` if the limiter is not open.
        """
        if not self._open:
            raise RuntimeError("the limiter is not open: it grants no calls")
        estimate = max(0, estimate)
        if not self._queue and self._allotment.take(estimate, self._clock()):
            permit = Permit(estimate)
            self._in_flight.add(permit)
            return permit
        waiter: Waiter[Permit] = Waiter(estimate, asyncio.get_running_loop().create_future())
        self._queue.join(waiter, batch, priority.weight)
        self._attend()
        try:
            return await waiter.future
        except asyncio.CancelledError:
            if waiter.future.cancelled():
                self._queue.leave(waiter)
            elif (permit := waiter.future.result()) in self._in_flight:  # granted and cancelled in the same moment
                self.void(permit)
            raise

    def reweigh(self, batch: Hashable, priority: Priority) -> None:
        """Change the priority of a batch's waiting calls. Later calls pass their own priority to `acquire`."""
        self._queue.reweigh(batch, priority.weight)
        self._attend()

    async def release(self, permit: Permit, used: int | None) -> None:
        """Release a permit after a call that used `used` tokens; None: unknown, so the estimate counts.

        Pass None for a failed call too, because a number counts as a success. The method does not wait for Redis. A
        second release changes nothing.
        """
        if permit not in self._in_flight:
            return
        self._in_flight.remove(permit)
        self._allotment.give(permit.estimate, used)
        self._serve()

    def void(self, permit: Permit) -> None:
        """Release a permit that was not used for a call. Its tokens become available to other calls."""
        if permit not in self._in_flight:
            return
        self._in_flight.remove(permit)
        self._allotment.void(permit.estimate)
        self._serve()

    def observe(self, rate: RateHeaders, age: float = 0.0) -> None:
        """Share the rate limits in an answer with all processes. The answer's call began `age` seconds ago."""
        self._allotment.observe(rate, age)
        self._attend()

    def congested(self) -> None:
        """Halve the limit on calls in flight of all processes, because the endpoint is overloaded.

        The limit is halved at most once a second. Call this method before you release the permit of the failed call.
        Otherwise another call could begin at once.
        """
        self._allotment.congested()
        self._attend()

    async def block(self, seconds: float) -> None:
        """Block all calls to this endpoint and model for `seconds`, and wait until Redis has recorded the block.

        An existing block is never shortened.
        """
        if not self._open or seconds <= 0:
            return
        self._allotment.block(self._clock() + seconds)
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._blocks_to_send.append(confirmed)
        self._attend()
        await confirmed

    @property
    def blocked(self) -> float:
        """Seconds until calls are no longer blocked, as far as this process knows."""
        return self._allotment.blocked(self._clock()) if self._open else 0.0

    @property
    def in_flight(self) -> int:
        """Number of this process's calls in flight."""
        return len(self._in_flight)

    @property
    def waiting(self) -> int:
        """Number of this process's calls that wait for a permit."""
        return len(self._queue)

    @property
    def concurrency(self) -> int:
        """Number of calls that all processes together may have in flight now."""
        return self._allotment.concurrency or self.limits.concurrency

    @property
    def share_of_requests(self) -> float | None:
        """The used share of the limit on requests per minute; None if there is no limit.

        The requests of all processes in the last minute count. The number is from the last reply of Redis.
        """
        shared = self._allotment.requests
        limits = [limit for limit in (shared.limit, self.limits.rpm) if limit]
        return shared.granted / min(limits) if limits else None

    @property
    def ended(self) -> bool:
        """True if the task that exchanges messages with Redis ended although the limiter was not closed."""
        return self._open and self._pump is not None and self._pump.done()

    # Waiting calls

    def _demand(self) -> Demand:
        queue = self._queue
        head = queue.head() if queue else None
        return NO_DEMAND if head is None else Demand(len(queue), head.estimate, queue.mean, queue.weight)

    def _serve(self) -> None:
        """Grant permits to waiting calls as far as possible."""
        if self._queue:
            now, allotment, queue = self._clock(), self._allotment, self._queue
            while (waiter := queue.head()) is not None and allotment.take(waiter.estimate, now):
                queue.serve()
                if waiter.future.done():  # cancelled, and not awake yet
                    allotment.void(waiter.estimate)
                    continue
                permit = Permit(waiter.estimate)
                self._in_flight.add(permit)
                waiter.future.set_result(permit)
            if queue and self._alarm is None and (due := allotment.next_permit(now)) is not None:
                self._alarm = asyncio.get_running_loop().call_at(due, self._permit_is_due)
        self._attend()

    def _permit_is_due(self) -> None:
        self._alarm = None
        self._serve()

    def _attend(self) -> None:
        """Wake the task that sends requests to Redis if the next request is now due earlier than planned."""
        if self._planned > self._allotment.request_at(self._clock(), self._demand()):
            self._wake.set()

    # The pump

    async def _run(self) -> None:
        while True:
            await self._until_due()
            if not self._open:
                return
            try:
                await self._exchange()
            except Exception:
                # A defect in Tamis, not in Redis. Waiting calls keep waiting, and the next turn may serve them. Without
                # this handler, they would wait for a dead pump.
                log.exception("the limiter failed in one turn, and continues")
                self._allotment.mark_dirty()

    async def _until_due(self) -> None:
        while self._open:
            self._wake.clear()
            now = self._clock()
            self._planned = self._allotment.request_at(now, self._demand())
            if self._planned <= now:
                break
            await wait_within(self._wake, self._planned - now)
        self._planned = -math.inf  # until the reply arrives, a wake-up has no effect

    async def _exchange(self) -> None:
        """Make one round trip to Redis: send reports and request permits, then apply the reply."""
        request = self._allotment.next_request(next(self._names), self._clock(), self._demand(), self.limits)
        blocks, self._blocks_to_send = self._blocks_to_send, []
        try:
            reply = await self._reply_to(request)
        except BaseException:
            self._allotment.request_lost(request)
            self._blocks_to_send += blocks
            raise
        self._allotment.apply_reply(request, reply, self._asked_at, self._clock())
        self._resolve(blocks)
        self._serve()

    async def _reply_to(self, request: LimiterRequest) -> LimiterReply:
        """Return the script's reply. While Redis is down, repeat the request without a time limit."""
        pause = FIRST_RETRY
        while True:
            self._asked_at = self._clock()
            try:
                async with asyncio.timeout(REPLY_WITHIN):
                    numbers = await self._script(keys=self._keys, args=self._arguments(request))
                break
            except AWAY as error:
                if not self._away:
                    log.warning("no call is granted: the limiter's Redis %s", what_is_wrong(error))
                self._away = True
                await asyncio.sleep(pause)
                pause = min(2 * pause, LAST_RETRY)
        if self._away:
            log.warning("calls are granted again: the limiter's Redis works")
        self._away = False
        return LimiterReply.read(numbers)

    def _arguments(self, request: LimiterRequest) -> list[str | int]:
        now, allotment = self._clock(), self._allotment
        return request.arguments(self._holder, self.limits, allotment.own_block(now), allotment.shared_state(now))

    def _resolve(self, blocks: list[asyncio.Future[None]]) -> None:
        for confirmed in blocks:
            if not confirmed.done():
                confirmed.set_result(None)
        blocks.clear()


@dataclass(eq=False)
class Limiters:
    """The limiters of one worker process and endpoint.

    `known`, `blocked` and `ended` may be called from any thread.
    """

    redis: "Redis"
    endpoint: str
    limits: Limits
    _: KW_ONLY
    holder: str
    lease: float
    _limiters: dict[str, Limiter] = field(init=False, default_factory=dict)  # by model

    async def of(self, model: str) -> Limiter:
        """Return the limiter of a model. The first call for the model creates and opens the limiter."""
        limiter = self._limiters.get(model)
        if limiter is None:
            key = wire.limiter_key(self.endpoint, model)
            limiter = Limiter(self.redis, key, self.limits, holder=self.holder, lease=self.lease)
            self._limiters[model] = limiter  # before any await: a second caller must see it
            await limiter.start()
        return limiter

    def known(self) -> dict[str, Limiter]:
        """Return the limiters that exist so far, by model."""
        return dict(self._limiters)

    def blocked(self) -> dict[str, float]:
        """Return the blocked models, each with the remaining seconds."""
        blocked = {model: limiter.blocked for model, limiter in list(self._limiters.items())}
        return {model: seconds for model, seconds in blocked.items() if seconds > 0}

    def ended(self) -> list[str]:
        """Return the models whose limiter ended by itself."""
        return [model for model, limiter in list(self._limiters.items()) if limiter.ended]

    def reweigh(self, batch: Hashable, priority: Priority) -> None:
        """Change the priority of a batch's waiting calls."""
        for limiter in self._limiters.values():
            limiter.reweigh(batch, priority)

    async def close(self) -> None:
        """Close all limiters."""
        for limiter in self._limiters.values():
            await limiter.close()
