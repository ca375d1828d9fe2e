"""What an endpoint says of its limits, between two calls of the script: only what all processes do not know yet.

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
CONFIRM = 60.0  # what the endpoint still says of its limits is told again, before it is forgotten


class ObservedLimits:
    """Of one process. What is known to all is an argument: it is what the script answered last."""

    def __init__(self) -> None:
        self._requests = self._tokens = NO_REPORT
        self._confirmed = False
        self._confirmed_at = float("-inf")

    @property
    def of_limits(self) -> bool:
        """True where a limit was heard that has not been told."""
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
        """True where a limit was heard that is lower than the known one."""
        return 0 < self._requests.limit < (requests.limit or float("inf")) or 0 < self._tokens.limit < (
            tokens.limit or float("inf")
        )

    def tell(self, now: float, requests: SharedLimit, tokens: SharedLimit) -> LimitReports:
        """What is to be told, once."""
        heard = LimitReports(self._requests, self._tokens)
        if self._confirmed and now >= self._confirmed_at + CONFIRM:
            self._confirmed, self._confirmed_at = False, now
            heard = LimitReports(
                replace(heard.requests, limit=heard.requests.limit or requests.limit),
                replace(heard.tokens, limit=heard.tokens.limit or tokens.limit),
            )
        self._requests = self._tokens = NO_REPORT
        return heard


def _noted(
    said: LimitReport, limit: int, remaining: int | None, reset: float | None, age: float, known: SharedLimit
) -> LimitReport:
    if reset is not None and reset > LONGEST:
        return said
    if limit != known.limit and limit != said.limit:
        said = replace(said, limit=limit)
    if remaining is None:
        return said
    taken = limit - remaining
    windowed = known.windowed or said.windowed
    if not windowed and (reset is None or abs(reset - MINUTE * taken / limit) > BUCKET_LIKE):
        # All would be back at another time if it came back bit by bit.
        windowed = True
        said = replace(said, windowed=True)
    if not windowed:
        explained = known.bucket + age * limit / MINUTE
    elif reset is None or reset >= NEW_WINDOW:
        explained = known.own
    else:  # a fixed window, whose end is so far away
        explained = known.own * (MINUTE - reset) / MINUTE
    if taken > explained + FOREIGN_FROM * limit and taken > said.taken:
        said = replace(said, taken=taken, lasts=LONGEST if reset is None else reset, ago=age)
    return said
