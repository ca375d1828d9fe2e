"""Processes, what they wait for and what they have begun, and the clock that they share."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random

from redis import Redis

from tamis_worker.limiter.allotment import NO_DEMAND, Demand, LocalAllotment
from tamis_worker.limiter.rate_headers import RateHeaders
from tamis_worker.limiter.script import SCRIPT, LimiterReply, LimiterRequest, Limits

from .endpoint import Endpoint, Refused

REAL_CLOCK = "redis.call('TIME')"
WORLD_CLOCK = "{math.floor(ARGV[#ARGV] / 1000000), ARGV[#ARGV] % 1000000}"
assert SCRIPT.count(REAL_CLOCK) == 1
WORLD_SCRIPT = SCRIPT.replace(REAL_CLOCK, WORLD_CLOCK)

RETRY = 0.05  # s until a request whose reply was lost is sent again


@dataclass(frozen=True)
class Begun:
    """A call."""

    at: float
    process: "Process"
    estimate: int
    used: int


@dataclass(eq=False)
class Process:
    """One worker process."""

    name: str
    allotment: LocalAllotment
    weight: int = 1
    waiting: deque[int] = field(default_factory=deque)  # estimates
    greedy: int | None = None  # as many calls of so many tokens as it may
    calls: list[tuple[float, int, int, int, tuple[RateHeaders, float] | None]] = field(default_factory=list)
    pending: LimiterRequest | None = None  # its reply was lost
    retry_at: float = 0.0
    lose: int = 0  # replies to come that are lost
    alive: bool = True
    silent: bool = False  # Redis cannot be reached
    begun: int = 0
    trips: int = 0

    @property
    def demand(self) -> Demand:
        if self.greedy is not None:
            return Demand(1_000, self.greedy, self.greedy, self.weight)
        if not self.waiting:
            return NO_DEMAND
        mean = -(-sum(self.waiting) // len(self.waiting))
        return Demand(len(self.waiting), self.waiting[0], mean, self.weight)

    @property
    def head(self) -> int | None:
        if self.greedy is not None:
            return self.greedy
        return self.waiting[0] if self.waiting else None


class World:
    """Everything happens in `run`. Times are seconds of the world's clock."""

    def __init__(
        self,
        redis: "Redis",
        limits: Limits,
        *,
        key: str,
        lease: float = 15.0,
        latency: Callable[[Random], float] = lambda chance: chance.uniform(0.5, 1.5),
        used: Callable[[Random, int], int] = lambda chance, estimate: estimate,
        endpoint: Endpoint | None = None,
        start: float = 1_000_000.0,
    ) -> None:
        self.now = start
        self.server_clock = 0.0  # ahead of ours
        self.limits = limits
        self.lease = lease
        self.endpoint = endpoint
        self.processes: list[Process] = []
        self.begun: list[Begun] = []
        self.on_begin: Callable[[Begun], None] = lambda begun: None
        self.on_reply: Callable[[LimiterReply], None] = lambda reply: None
        self._redis = redis
        self._script = redis.register_script(WORLD_SCRIPT)
        self._keys = [f"{key}:rate", f"{key}:holders"]
        self._latency = latency
        self._used = used
        self._chance = Random(1)
        self._tie = count()

    def join(self, *, weight: int = 1, greedy: int | None = None) -> Process:
        """A new process."""
        process = Process(f"p{len(self.processes)}", LocalAllotment(self.lease), weight=weight, greedy=greedy)
        self.processes.append(process)
        return process

    def ask(self, process: Process, estimate: int) -> None:
        """One more call that a process would like to make."""
        process.waiting.append(estimate)
        self._serve(process)

    @property
    def alive(self) -> list[Process]:
        return [process for process in self.processes if process.alive]

    @property
    def in_flight(self) -> int:
        return sum(process.allotment.in_flight for process in self.alive)

    def kill(self, process: Process) -> None:
        """It says nothing any more, and its calls are cut off."""
        process.alive = False

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Let time pass, and everything happen that is due meanwhile; not longer than until something is so."""
        end = self.now + seconds
        nexts = {process: self._next(process) for process in self.alive}
        while not until():
            process, (due, what) = min(nexts.items(), key=lambda entry: entry[1][0], default=(None, (end, None)))
            if due > end or process is None or what is None:
                self.now = end
                return
            self.now = max(self.now, due)
            what(process)
            nexts[process] = self._next(process)  # what happens to one moves nothing of the others

    def _next(self, process: Process) -> tuple[float, Callable[[Process], None] | None]:
        """When something happens to a process next, and what."""
        events: list[tuple[float, Callable[[Process], None]]] = []
        if process.calls:
            events.append((process.calls[0][0], self._end))
        if process.pending is not None:
            events.append((process.retry_at, self._speak))
        elif not process.silent:
            events.append((process.allotment.request_at(self.now, process.demand), self._speak))
        due = process.allotment.next_permit(self.now)
        if due is not None and process.head is not None:
            events.append((due, self._serve))
        return min(events, key=lambda event: event[0], default=(math.inf, None))

    def _speak(self, process: Process) -> None:
        request = process.pending
        if request is None:
            name = f"c{next(self._tie)}"
            request = process.allotment.next_request(name, self.now, process.demand, self.limits)
        allotment = process.allotment
        block, shared = allotment.own_block(self.now), allotment.shared_state(self.now)
        arguments = request.arguments(process.name, self.limits, block, shared)
        numbers = self._script(keys=self._keys, args=[*arguments, round((self.now + self.server_clock) * 1_000_000)])
        process.trips += 1
        if process.lose:
            process.lose -= 1
            process.pending, process.retry_at = request, self.now + RETRY
            return
        process.pending = None
        reply = LimiterReply.read(numbers)
        self.on_reply(reply)
        allotment.apply_reply(request, reply, self.now, self.now)
        self._serve(process)

    def _serve(self, process: Process) -> None:
        while (head := process.head) is not None and process.allotment.take(head, self.now):
            if process.waiting:
                process.waiting.popleft()
            used = self._used(self._chance, head)
            begun = Begun(self.now, process, head, used)
            headers: tuple[RateHeaders, float] | None = None
            ends = self.now + self._latency(self._chance)
            if self.endpoint is not None:
                answer = self.endpoint.answer(used, self.now)
                if isinstance(answer, Refused):
                    self._refused(process, answer, head)
                    return
                headers = answer, ends - self.now  # as it stands when the call comes; heard when it ends
            self.begun.append(begun)
            process.begun += 1
            heappush(process.calls, (ends, next(self._tie), head, used, headers))
            self.on_begin(begun)

    def _refused(self, process: Process, refused: Refused, estimate: int) -> None:
        allotment = process.allotment
        allotment.congested()
        allotment.give(estimate, None)
        if process.greedy is None:
            process.waiting.appendleft(estimate)
        wait = self._chance.uniform(2.5, 5.0) if refused.retry_after is None else refused.retry_after
        allotment.block(self.now + wait)

    def _end(self, process: Process) -> None:
        _, _, estimate, used, headers = heappop(process.calls)
        if headers is not None:
            process.allotment.observe(*headers)
        process.allotment.give(estimate, used)
        self._serve(process)
