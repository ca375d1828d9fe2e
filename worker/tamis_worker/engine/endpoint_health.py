"""The health of an endpoint for one model: whether it answers, and accepts the key; and the cause of failures.

| outcome of a call | endpoint unknown | endpoint answers | endpoint fails |
|---|---|---|---|
| an answer, an error about the record, 429 | it answers | it answers | it answers: all calls go on |
| key, quota or model refused | one call at a time, `spacing` apart | the same | the same |
| connection, time-out, 5xx, no JSON | `FAULTS` in a row: it fails | the same | the next probe comes later |
| the same, of a probe | it fails | it fails | the next probe comes later |

The state is "unknown" at the start, after a refusal, and after a minute without an answer. In this state one trial call
at a time is made, so a wrong key or an unknown model costs few calls.

While the endpoint fails, no call of an item is made. A probe is a small question. The worker sends one probe at a time,
at growing intervals, until a probe is answered. If an endpoint repeatedly answers probes but no other call, the batch
is paused. Otherwise calls that time out would be repeated for ever.

A failed call is the endpoint's fault if a later probe fails too, and the item's own fault if the endpoint answers. An
endpoint's fault does not count against an item, with one exception. For ten seconds after an answered probe, one or two
failed calls cause no new probe, and count as attempts of their items.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from tamis_schemas import ErrorKind, Pause, PauseKind

from ..event_loop.loop import wait_within
from ..llm.chat import CallError, ChatAnswer, Obstacle, Reply
from .retry import TRANSIENT

# All times are in seconds.
PATIENCE = 3.0  # an endpoint refuses a key at once, so waiting for a trial call ends after this time
SPACING = 0.5  # between a refusal and the next trial, so that a brief fault of a key server pauses nothing
FRESH = 60.0  # an older answer does not show the present state of the key
GRACE = 1.0  # for other calls to be answered, before a probe is asked about a failure
PROVEN = 10.0  # an answered probe shows for this time that the endpoint answers, if it does not fail
FAULTS = 3  # failed calls in a row, without an answer between, after which the endpoint fails
RELAPSES = 5  # faults in a row, between which only probes were answered: then waiting does not help
LONGEST_INTERVAL = 4.0  # between two probes
RECENT = 5.0  # a failure older than this is confirmed by a probe before a batch is paused for it
UNKNOWN_NAME = 60.0  # a name that is unknown for this time is wrong: before that, its server may be at fault

Probe: TypeAlias = Callable[[], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class EndpointFault:
    """The present failure of an endpoint for one model."""

    error: CallError  # of the latest failed call
    since: float  # the first failed call's end, by the loop's clock
    relapses: int = 1  # faults in a row, with this one, between which only probes were answered

    @property
    def message(self) -> str:
        """The reason for the failure in one line, for people."""
        if self.relapses < RELAPSES:
            return self.error.message
        slow = self.error.kind is ErrorKind.TIMEOUT
        advice = ". Raise TAMIS_CALL_TIMEOUT, or lower TAMIS_LIMIT_CONCURRENCY" if slow else ""
        return f"the endpoint answers small questions only: {self.error.message}{advice}"

    def heals(self, now: float) -> bool:
        """Return whether the fault may end by itself."""
        if self.relapses >= RELAPSES:
            return False
        if self.error.obstacle is Obstacle.NAME:
            return now - self.since < UNKNOWN_NAME
        return self.error.obstacle not in (Obstacle.TLS, Obstacle.PAGE)


class EndpointBroken(Exception):
    """Raised if the endpoint fails, and waiting does not help. The batch must be paused."""

    def __init__(self, fault: EndpointFault) -> None:
        super().__init__(fault.message)
        self.pause = Pause(kind=PauseKind.ENDPOINT, message=fault.message)


class EndpointHealth:
    """The health of an endpoint for one model. A worker process has one object for each model."""

    def __init__(
        self, *, patience: float = PATIENCE, spacing: float = SPACING, fresh: float = FRESH, grace: float = GRACE
    ) -> None:
        self._patience = patience
        self._spacing = spacing
        self._fresh = fresh
        self._grace = grace
        self._closed_until = -math.inf  # by the loop's clock; after an answer since the last refusal
        self._refused = 0  # calls ever; shows whether there was a refusal since a call began
        self._in_a_row = 0
        self._forbidden = 0  # in a row, possibly the fault of an item
        self._next_trial = 0.0  # earliest time, by the loop's clock
        self._trial: Admission | None = None  # half open: the trial call
        self._faults = 0  # failed calls in a row
        self._relapses = 0  # faults in a row, between which only probes were answered
        self._first_fault = 0.0  # the end of the first of these faults
        self._failed_at = -math.inf  # the end of the latest failed call
        self._probe_failed_at = -math.inf
        self._probe_answered = -math.inf  # the start of the latest answered probe
        self._answered = -math.inf  # the latest start of a call that the endpoint answered
        self._next_probe = 0.0
        self._probing = asyncio.Lock()  # first come, first served: its holder probes, the others wait
        self._moved = asyncio.Event()  # set and replaced at every change
        self.fault: EndpointFault | None = None  # the present one

    @property
    def state(self) -> str:
        """The state of the circuit breaker: closed, half open (a trial call is in flight) or open.

        Read the state on the loop only.
        """
        if self._is_closed():
            return "closed"
        return "open" if self._trial is None else "half open"

    def admit_at_once(self) -> "Admission | None":
        """Return an admission (the right to make one call) if the endpoint answers and accepts the key, else None."""
        return Admission(self) if self._is_closed() else None

    async def admit(self, probe: Probe) -> "Admission":
        """Wait until the endpoint works and no trial call is in flight. Return an admission (the right to call once).

        The wait for a trial call lasts at most `patience` seconds. `probe` asks the endpoint a small question. Raise
        `EndpointBroken` if waiting cannot help.
        """
        while not self._is_closed() and (self.fault is not None or self._trial is not None):
            if self.fault is not None:
                await self._until_it_answers(probe, -math.inf)
                continue
            assert self._trial is not None  # noqa: S101 - the loop's condition
            left = self._trial.began + self._patience - _now() if self._trial.began else None
            if left is not None and left <= 0:
                return Admission(self)
            await wait_within(self._moved, left)
        admission = Admission(self)
        if not self._is_closed():
            self._trial = admission
            try:
                await asyncio.sleep(max(0.0, self._next_trial - _now()))
            except asyncio.CancelledError:
                self._leave(admission)
                raise
        return admission

    async def is_own_fault(self, failed_at: float, probe: Probe) -> bool:
        """Wait until the endpoint answers. Return True if the call that failed at `failed_at` caused its own failure.

        First wait a short time for an answer to another call. Without such an answer, `probe` asks the endpoint a small
        question. Raise `EndpointBroken` if waiting cannot help.
        """
        until = _now() + self._grace
        while self.fault is None and self._answered < failed_at and (left := until - _now()) > 0:
            await wait_within(self._moved, left)
        if self.fault is not None or failed_at - self._probe_answered > PROVEN:
            await self._until_it_answers(probe, failed_at)
        return self._probe_failed_at < failed_at

    async def _until_it_answers(self, probe: Probe, since: float) -> None:
        """Send probes until both are true: the endpoint has no fault, and it answered a call begun after `since`."""
        while self.fault is not None or self._answered < since:
            async with self._probing:
                if self.fault is None and self._answered >= since:
                    return
                if self.fault is not None and _now() - self._failed_at < RECENT and not self.fault.heals(_now()):
                    raise EndpointBroken(self.fault)
                await asyncio.sleep(max(0.0, self._next_probe - _now()))
                began = _now()
                reply = await probe()
                if not self._note_fault(reply, began):
                    self._probe_answered = began
                elif began >= self._answered:
                    self._probe_failed_at = self._failed_at
                    self._fail(reply)

    def _record(self, reply: Reply, refused_before: int, began: float) -> int:
        if self._note_fault(reply, began):
            if self._faults >= FAULTS:
                self._fail(reply)
            return 0
        if not (isinstance(reply, CallError) and reply.obstacle is Obstacle.CUT):
            self._relapses = 0
        if isinstance(reply, ChatAnswer) or reply.status == 200:
            self._forbidden = 0
            if refused_before == self._refused:  # an older call does not show the present state of the key
                self._in_a_row = 0
                self._close()
            return 0
        if reply.everyone:
            self._refused += 1
            self._in_a_row += 1
            self._closed_until = -math.inf
            self._next_trial = _now() + self._spacing
            return self._in_a_row
        if reply.kind is ErrorKind.PERMISSION:
            self._forbidden += 1
            return self._forbidden
        if reply.kind not in TRANSIENT and self._in_a_row == 0:
            self._close()  # the endpoint accepted the key, but not the request
        return 0

    def _note_fault(self, reply: Reply, began: float) -> bool:
        """Record whether the endpoint answered. Return True if the endpoint may have caused a failure of the call."""
        if isinstance(reply, CallError) and reply.obstacle is Obstacle.CUT:
            return False
        if isinstance(reply, ChatAnswer) or reply.kind not in TRANSIENT:
            self._faults = 0
            self._answered = max(self._answered, began)
            if began > self._failed_at:
                self.fault = None
            self._move()
            return False
        if began < self._answered:
            return True  # an older call: the endpoint has answered since
        self._failed_at = _now()
        self._faults += 1
        if self._faults == 1:
            self._first_fault = self._failed_at
        return True

    def _fail(self, reply: Reply) -> None:
        assert isinstance(reply, CallError)  # noqa: S101 - an answer is no fault
        interval = min(LONGEST_INTERVAL, self._spacing * 2.0 ** min(self._faults - 1, 8))
        self._next_probe = _now() + max(interval, min(reply.retry_after or 0.0, FRESH))
        self._relapses += self.fault is None
        self.fault = EndpointFault(reply, self._first_fault, self._relapses)
        self._move()

    def _is_closed(self) -> bool:
        return self.fault is None and _now() < self._closed_until

    def _close(self) -> None:
        was_closed = self._is_closed()
        self._closed_until = _now() + self._fresh
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
    """The right to make one call. The end of the admission's `with` block admits the next call."""

    __slots__ = ("_health", "_refused_before", "began")

    def __init__(self, health: EndpointHealth) -> None:
        self._health = health
        self._refused_before = 0
        self.began = 0.0  # by the loop's clock; 0: not yet begun

    def __enter__(self) -> "Admission":
        return self

    def __exit__(self, *exc: object) -> None:
        self._health._leave(self)

    def begin(self) -> None:
        """Record that the call begins."""
        self._refused_before = self._health._refused
        self.began = _now()
        if self._health._trial is self:
            self._health._move()  # the waiting calls can measure their patience from now on

    def record(self, reply: Reply) -> int:
        """Record the reply. Return the number of refusals in a row in this process, or 0 if the reply is no refusal.

        Refusals of the key, the quota or the model are counted separately from other refusals with status 403.
        """
        return self._health._record(reply, self._refused_before, self.began)


def _now() -> float:
    return asyncio.get_running_loop().time()
