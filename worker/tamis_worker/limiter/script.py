"""The script that grants, and what one process says to it: requests, replies, and what is known of the limits.

`limiter.lua` decides, in one atomic step on Redis, by the clock of the server. Its formulas stand in `gcra.lua`,
`aimd.lua` and `usage.lua`, and nowhere else.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import gcra

MICROSECONDS = 1_000_000
MOST_AT_ONCE = 500  # rate permits in one answer
OLDEST = 60.0  # seconds; answers that took longer are taken to be as old
LIMIT_KEPT = 300.0  # seconds after an endpoint was last heard to say what its limit is

_WAIT, _BLOCKED, _FIRST_DELAY = 5, 6, 20  # in the answer, counted from 1 as Lua does
_CONSTANTS = {
    "WINDOW": gcra.WINDOW,
    "LATE": gcra.LATE,
    "BURST_SHARE": gcra.BURST_SHARE,
    "AHEAD": round(gcra.AHEAD * MICROSECONDS),
    "CUT_WINDOW": round(gcra.CUT_WINDOW * MICROSECONDS),
    "CUT_FACTOR": gcra.CUT_FACTOR,
    "FAST_GROWTH": gcra.FAST_GROWTH,
    "SLOW_GROWTH": gcra.SLOW_GROWTH,
    "SLOW_FROM": gcra.SLOW_FROM,
    "FOREIGN_FACTOR": gcra.FOREIGN_FACTOR,
    "FOREIGN_FROM": gcra.FOREIGN_FROM,
    "FOREIGN_KEPT": round(gcra.FOREIGN_KEPT * MICROSECONDS),
    "NEW_WINDOW": round(gcra.NEW_WINDOW * MICROSECONDS),
    "LEAST_SHARE": gcra.LEAST_SHARE,
    "OLDEST": round(OLDEST * MICROSECONDS),
    "LIMIT_KEPT": round(LIMIT_KEPT * MICROSECONDS),
    "MOST_AT_ONCE": MOST_AT_ONCE,
    "WAIT": _WAIT,
    "BLOCKED": _BLOCKED,
    "FIRST_DELAY": _FIRST_DELAY,
}
_PURE_PARTS = ("gcra.lua", "aimd.lua", "usage.lua")


def _part(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


# The formulas alone: what they are computed from are their arguments.
ARITHMETIC = "\n".join(
    [" ".join(f"local {name} = {value!r}" for name, value in _CONSTANTS.items()), *map(_part, _PURE_PARTS)]
)
SCRIPT = ARITHMETIC + _part("limiter.lua")


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one model at one endpoint, for all processes together. None: no limit of that kind."""

    rpm: int | None
    tpm: int | None
    concurrency: int


@dataclass(frozen=True, slots=True)
class LimitReport:
    """What an endpoint said of one of its limits that is new. Times are in seconds."""

    limit: int = 0  # per minute; 0: nothing new
    taken: int = 0  # limit - remaining, where it is more than we explain; 0: nothing new
    lasts: float = 0.0  # until all is back
    ago: float = 0.0  # when the call of that answer began; the answer may tell of any moment since
    windowed: bool = False  # it counts by windows of a minute, not in a bucket that refills


NO_REPORT = LimitReport()


@dataclass(frozen=True, slots=True)
class LimitReports:
    """What an endpoint said since the last call of the script."""

    requests: LimitReport = NO_REPORT
    tokens: LimitReport = NO_REPORT


@dataclass(frozen=True, slots=True)
class SharedLimit:
    """What all processes know of one limit."""

    lead: float = 0.0  # seconds that are paid for already
    limit: int = 0  # the endpoint's own; 0: not known
    own: int = 0  # granted in the last minute, to all processes
    windowed: bool = False  # see `LimitReport`
    bucket: int = 0  # if it is a bucket: what our own calls have taken out of it


@dataclass(frozen=True, slots=True)
class SharedLimitState:
    """What all shared when a process was last answered; also for a server that has forgotten it."""

    epoch: int = 0  # of the server's keys; another one means that they were wiped
    cap: int = 0  # on calls in flight; 0: none
    requests: SharedLimit = field(default=SharedLimit())
    tokens: SharedLimit = field(default=SharedLimit())


@dataclass(frozen=True, slots=True)
class LimiterRequest:
    """What is told and asked. Sent again unchanged where no reply comes: the script knows it by its name.

    A *slot* is the right to have a call in flight, kept from call to call. A *permit* is the right to begin one, at
    its time, with its tokens.
    """

    name: str
    lease: float  # seconds; 0: the process leaves
    slots: int = 0  # held
    want: int = 0  # slots that could be used beyond those
    weight: int = 1  # of the batches that wait
    ask: int = 0  # permits
    first: int = 0  # tokens of the first
    each: int = 0  # tokens of every other
    extra: int = 0  # permits ahead of demand, if there is plenty
    room: int = 0  # permits that slots held already have use for
    lack: int = 0  # slots that permits held already have use for; negative: slots to spare
    settle: int = 0  # tokens used beyond what was reserved, or to be given back
    unpaced_requests: int = 0  # begun without a permit, where no rate is limited
    unpaced_tokens: int = 0
    succeeded: int = 0  # calls
    cut: bool = False  # the endpoint said that it has too much
    heard: LimitReports = field(default=LimitReports())

    def arguments(self, holder: str, limits: Limits, block: float, memory: SharedLimitState) -> list[str | int]:
        """As the script takes them; `block` is how many seconds nobody is to be granted anything."""
        heard = self.heard
        return [
            holder,
            self.name,
            _microseconds(self.lease),
            self.slots,
            self.want,
            self.weight,
            self.ask,
            self.first,
            self.each,
            self.extra,
            self.room,
            self.lack,
            self.settle,
            self.unpaced_requests,
            self.unpaced_tokens,
            self.succeeded,
            int(self.cut),
            _microseconds(block),
            limits.rpm or 0,
            limits.tpm or 0,
            limits.concurrency,
            *_said(heard.requests),
            *_said(heard.tokens),
            memory.epoch,
            memory.cap,
            *_known(memory.requests),
            *_known(memory.tokens),
        ]


@dataclass(frozen=True, slots=True)
class LimiterReply:
    """What is answered. Times are seconds from now."""

    more: int  # slots, beyond those that were told
    keep: int | None  # slots that may be used again when a call ends; None: all
    contended: bool  # others wait for slots, and none is free
    paced: bool  # whether any rate is limited, so that permits are needed
    wait: float | None  # until asking for more permits makes sense; None: any time
    blocked: float  # nothing may begin for so long
    concurrency: int  # the limit in force for all processes together
    memory: SharedLimitState
    delays: tuple[float, ...]  # when the permits are due; negative: they were due before

    @classmethod
    def read(cls, numbers: Sequence[int]) -> "LimiterReply":
        """From the script's answer."""
        more, keep, contended, paced, wait, blocked, concurrency, epoch, cap = numbers[:9]
        requests, tokens = (
            SharedLimit(lead / MICROSECONDS, limit, own, bool(windowed), bucket)
            for lead, limit, own, windowed, bucket in (numbers[9:14], numbers[14:19])
        )
        return cls(
            more=more,
            keep=None if keep < 0 else keep,
            contended=bool(contended),
            paced=bool(paced),
            wait=None if wait < 0 else wait / MICROSECONDS,
            blocked=blocked / MICROSECONDS,
            concurrency=concurrency,
            memory=SharedLimitState(epoch, cap, requests, tokens),
            delays=tuple(delay / MICROSECONDS for delay in numbers[_FIRST_DELAY - 1 :]),
        )


def _microseconds(seconds: float) -> int:
    return math.ceil(seconds * MICROSECONDS)


def _said(said: LimitReport) -> tuple[int, ...]:
    return said.limit, said.taken, _microseconds(said.lasts), _microseconds(said.ago), int(said.windowed)


def _known(known: SharedLimit) -> tuple[int, ...]:
    return _microseconds(known.lead), known.limit, known.own, int(known.windowed)
