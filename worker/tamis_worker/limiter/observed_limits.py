"""What an endpoint says of its limits, between two requests to the script: only what all processes do not know yet.

Each answer is looked at for about a microsecond; most say nothing new.
"""

from dataclasses import replace

from .gcra import FOREIGN_FROM, NEW_WINDOW
from .rate_headers import RateHeaders
from .script import NO_REPORT, LimitReport, LimitReports, SharedLimit

# Seconds.
MINUTE = 60.0
LONGEST = 61.0  # a limit that takes longer to reset is not one per minute
BUCKET_LIKE = 3.0  # as near is a bucket's word on when it is full again
CONFIRM = 60.0  # what the endpoint still says of its limits is reported again, before it is forgotten


class ObservedLimits:
    """The limits that one process observes; what all processes know of them already is an argument."""

    def __init__(self) -> None:
        self._requests = self._tokens = NO_REPORT
        self._confirmed = False
        self._confirmed_at = float("-inf")

    @property
    def has_new_limit(self) -> bool:
        """True where a limit was observed that was not reported yet."""
        return bool(self._requests.limit or self._tokens.limit)

    def note(self, rate: RateHeaders, age: float, requests: SharedLimit, tokens: SharedLimit) -> None:
        """Take an answer into account whose call began `age` seconds ago."""
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
        """True where a limit was observed that is lower than the shared one."""
        return any(
            0 < report.limit < (shared.limit or float("inf"))
            for report, shared in ((self._requests, requests), (self._tokens, tokens))
        )

    def take_reports(self, now: float, requests: SharedLimit, tokens: SharedLimit) -> LimitReports:
        """Return what is to be reported, once."""
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
        # All would be back at another time if it came back bit by bit.
        windowed = True
        report = replace(report, windowed=True)
    if not windowed:
        explained = shared.bucket + age * limit / MINUTE
    elif reset is None or reset >= NEW_WINDOW:
        explained = shared.granted
    else:  # a fixed window, whose end is so far away
        explained = shared.granted * (MINUTE - reset) / MINUTE
    if taken > explained + FOREIGN_FROM * limit and taken > report.taken:
        report = replace(report, taken=taken, lasts=LONGEST if reset is None else reset, ago=age)
    return report
