"""The script that grants permits, the requests that a process sends to the script, and the replies.

`limiter.lua` decides in one atomic step on Redis, by the clock of the server. Its formulas are only in `gcra.lua`,
`aimd.lua` and `usage.lua`.

Between two requests a process observes the limits that the endpoint reports, and forwards only changes to the script.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path

from . import gcra
from .gcra import FOREIGN_FROM, NEW_WINDOW
from .rate_headers import RateHeaders

MICROSECONDS = 1_000_000
MOST_AT_ONCE = 500  # permits in one reply
OLDEST = 60.0  # seconds; the longest age of an answer that counts
LIMIT_KEPT = 300.0  # seconds after the endpoint last reported its limit

_WAIT, _BLOCKED, _FIRST_DELAY = 5, 6, 21  # in the reply, counted from 1 as Lua does
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
# Of a request, in the script's order.
_COUNTS = attrgetter(
    *("slots", "want", "weight", "ask", "first", "each", "extra", "room", "lack"),
    *("settle", "unpaced_requests", "unpaced_tokens", "succeeded", "congested"),
)
_PURE_PARTS = ("gcra.lua", "aimd.lua", "usage.lua")

# Seconds.
MINUTE = 60.0
LONGEST = 61.0  # a limit with a longer reset is not per minute
BUCKET_LIKE = 3.0  # seconds between a reported reset and that of a bucket, at most
CONFIRM = 60.0  # a repeated limit is reported again before it is forgotten


def _part(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


# The formulas alone; their inputs are arguments.
ARITHMETIC = "\n".join(
    [" ".join(f"local {name} = {value!r}" for name, value in _CONSTANTS.items()), *map(_part, _PURE_PARTS)]
)
SCRIPT = ARITHMETIC + _part("limiter.lua")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one model at one endpoint, for all processes together. None: no limit of that kind."""

    rpm: int | None  # requests per minute
    tpm: int | None  # tokens per minute
    concurrency: int  # calls in flight


@dataclass(frozen=True, slots=True)
class LimitReport:
    """New information from an endpoint about a limit. Times are in seconds."""

    limit: int = 0  # per minute; 0: nothing new
    taken: int = 0  # limit - remaining, if that is more than our own use; 0: nothing new
    lasts: float = 0.0  # until the limit is reset
    ago: float = 0.0  # since the call began; the answer may describe any moment since then
    windowed: bool = False  # the endpoint counts by windows of a minute, not in a bucket that refills


NO_REPORT = LimitReport()


@dataclass(frozen=True, slots=True)
class LimitReports:
    """The new information about the limits on requests and on tokens, since the last request to Redis."""

    requests: LimitReport = NO_REPORT
    tokens: LimitReport = NO_REPORT


@dataclass(frozen=True, slots=True)
class SharedLimit:
    """The state of one limit that all processes share."""

    lead: float = 0.0  # seconds from now until earlier grants no longer use up the limit
    limit: int = 0  # the endpoint's limit; 0: unknown
    granted: int = 0  # requests or tokens granted to all processes in the last minute
    windowed: bool = False  # the endpoint counts by windows of a minute, not in a bucket that refills
    bucket: int = 0  # if the endpoint uses a bucket: tokens or requests that our calls took from it


@dataclass(frozen=True, slots=True)
class SharedLimitState:
    """The state of both limits in the last reply of Redis. Requests send it back, because Redis may lose its data."""

    epoch: int = 0  # identifies the script's keys in Redis; a new epoch means that they were wiped
    cap: int = 0  # limit on calls in flight; 0: none
    requests: SharedLimit = field(default=SharedLimit())
    tokens: SharedLimit = field(default=SharedLimit())
    lifted: int = 0  # when a person last lifted a block; 0: never


@dataclass(frozen=True, slots=True)
class LimiterRequest:
    """A process's report to the script, and its request for slots (calls in flight) and permits (starts of calls).

    If no reply comes, the same request is sent again. The script recognises it by its `name`.
    """

    name: str
    lease: float  # seconds; 0: the process leaves
    slots: int = 0  # slots that the process has
    want: int = 0  # further slots that waiting calls could use
    weight: int = 1  # sum of the weights of the waiting batches
    ask: int = 0  # permits requested
    first: int = 0  # tokens of the first permit
    each: int = 0  # tokens of every further permit
    extra: int = 0  # permits to grant beyond those for waiting calls, if plenty are free
    room: int = 0  # further permits that the slots can use
    lack: int = 0  # further slots that the permits can use; negative: spare slots
    settle: int = 0  # tokens used beyond the reservation; negative: tokens to return
    unpaced_requests: int = 0  # calls begun without a permit, while no rate is limited
    unpaced_tokens: int = 0  # estimated tokens of these calls
    succeeded: int = 0  # number of calls that succeeded
    congested: bool = False  # the endpoint reported overload
    reports: LimitReports = field(default=LimitReports())

    def arguments(self, holder: str, limits: Limits, block: float, shared: SharedLimitState) -> list[str | int]:
        """Return the arguments of the script. `block`: seconds for which no process may get a permit."""
        return [
            holder,
            self.name,
            _microseconds(self.lease),
            *map(int, _COUNTS(self)),
            _microseconds(block),
            limits.rpm or 0,
            limits.tpm or 0,
            limits.concurrency,
            *_report_numbers(self.reports.requests),
            *_report_numbers(self.reports.tokens),
            shared.epoch,
            shared.cap,
            *_state_numbers(shared.requests),
            *_state_numbers(shared.tokens),
            shared.lifted,
        ]


@dataclass(frozen=True, slots=True)
class LimiterReply:
    """The reply of the script: slots and permits. Times are seconds from now."""

    more: int  # additional slots
    keep: int | None  # number of slots that may be used again when a call ends; None: all
    contended: bool  # other processes wait for slots, and none is free
    paced: bool  # a rate is limited, so calls need permits
    wait: float | None  # seconds until a request for more permits makes sense; None: any time
    blocked: float  # seconds until a call may begin
    concurrency: int  # the limit in force for all processes together
    shared: SharedLimitState
    delays: tuple[float, ...]  # when the permits are due; negative: already due

    @classmethod
    def read(cls, numbers: Sequence[int]) -> "LimiterReply":
        """Return the reply that the script's result, a list of numbers, contains."""
        more, keep, contended, paced, wait, blocked, concurrency, epoch, cap = numbers[:9]
        requests, tokens = (
            SharedLimit(lead / MICROSECONDS, limit, granted, bool(windowed), bucket)
            for lead, limit, granted, windowed, bucket in (numbers[9:14], numbers[14:19])
        )
        return cls(
            more=more,
            keep=None if keep < 0 else keep,
            contended=bool(contended),
            paced=bool(paced),
            wait=None if wait < 0 else wait / MICROSECONDS,
            blocked=blocked / MICROSECONDS,
            concurrency=concurrency,
            shared=SharedLimitState(epoch, cap, requests, tokens, numbers[19]),
            delays=tuple(delay / MICROSECONDS for delay in numbers[_FIRST_DELAY - 1 :]),
        )


def _microseconds(seconds: float) -> int:
    return math.ceil(seconds * MICROSECONDS)


def _report_numbers(report: LimitReport) -> tuple[int, ...]:
    return report.limit, report.taken, _microseconds(report.lasts), _microseconds(report.ago), int(report.windowed)


def _state_numbers(state: SharedLimit) -> tuple[int, ...]:
    return _microseconds(state.lead), state.limit, state.granted, int(state.windowed)


class ObservedLimits:
    """The rate limits that one process observes in answers, and has not yet reported to Redis.

    The arguments `requests` and `tokens` of its methods are the limits that all processes share.
    """

    def __init__(self) -> None:
        self._requests = self._tokens = NO_REPORT
        self._confirmed = False
        self._confirmed_at = float("-inf")

    @property
    def has_new_limit(self) -> bool:
        """True if an observed limit was not reported yet."""
        return bool(self._requests.limit or self._tokens.limit)

    def note(self, rate: RateHeaders, age: float, requests: SharedLimit, tokens: SharedLimit) -> None:
        """Record the rate limits in an answer whose call began `age` seconds ago."""
        self._confirmed = True
        if rate.limit_requests is not None:
            self._requests = _noted(
                self._requests, rate.limit_requests, rate.remaining_requests, rate.reset_requests, age, requests
            )
        if rate.limit_tokens is not None:
            self._tokens = _noted(
                self._tokens, rate.limit_tokens, rate.remaining_tokens, rate.reset_tokens, age, tokens
            )

    def lowers(self, requests: SharedLimit, tokens: SharedLimit) -> bool:
        """Return True if an answer reported a limit on requests or tokens that is lower than the shared limit."""
        return any(
            0 < report.limit < (shared.limit or float("inf"))
            for report, shared in ((self._requests, requests), (self._tokens, tokens))
        )

    def take_reports(self, now: float, requests: SharedLimit, tokens: SharedLimit) -> LimitReports:
        """Return the new information since the last call of this method.

        Every `CONFIRM` seconds, the reports also repeat the shared limits, if there were answers in the meantime.
        """
        reports = LimitReports(self._requests, self._tokens)
        if self._confirmed and now >= self._confirmed_at + CONFIRM:
            self._confirmed, self._confirmed_at = False, now
            reports = LimitReports(
                replace(reports.requests, limit=reports.requests.limit or requests.limit),
                replace(reports.tokens, limit=reports.tokens.limit or tokens.limit),
            )
        self._requests = self._tokens = NO_REPORT
        return reports


def _noted(
    report: LimitReport, limit: int, remaining: int | None, reset: float | None, age: float, shared: SharedLimit
) -> LimitReport:
    if reset is not None and reset > LONGEST:
        return report
    if limit not in (shared.limit, report.limit):
        report = replace(report, limit=limit)
    if remaining is None:
        return report
    taken = limit - remaining
    windowed = shared.windowed or report.windowed
    if not windowed and (reset is None or abs(reset - MINUTE * taken / limit) > BUCKET_LIKE):
        # In a bucket that refills steadily, the reset would be at another time.
        windowed = True
        report = replace(report, windowed=True)
    if not windowed:
        explained = shared.bucket + age * limit / MINUTE
    elif reset is None or reset >= NEW_WINDOW:
        explained = shared.granted
    else:  # a fixed window that ends so late
        explained = shared.granted * (MINUTE - reset) / MINUTE
    if taken > explained + FOREIGN_FROM * limit and taken > report.taken:
        report = replace(report, taken=taken, lasts=LONGEST if reset is None else reset, ago=age)
    return report
