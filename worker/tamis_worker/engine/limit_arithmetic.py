"""How fast permits may follow each other, so that no window of a minute holds more than the limit.

The limiter is a GCRA (generic cell rate algorithm): per limit it keeps one time, the *theoretical arrival time* TAT,
up to which the past is paid for. What costs `cost` is granted at `now` where

    TAT + min(cost, burst) - burst <= now        and then        TAT = max(TAT, now) + cost

All times are microseconds. So up to `burst` worth of time may come at once, and the rest follows at `interval`.

**Requests.** A request costs one interval T; the burst is b requests. Let n requests be granted at t1 <= ... <= tn in
one half-open window of W = 60 s, so tn - t1 < W. Every grant adds T to a TAT that is at least t1: before the n-th,
TAT >= t1 + (n - 1) T. It is granted, so TAT + T - b T <= tn. Together: n <= b + (tn - t1) / T < b + W / T. With
T = W / (rpm - b + 1) that is n < rpm + 1: at most `rpm`.

**Tokens.** A permit costs its estimate times T; the burst is B tokens. In the same way, the estimates granted in one
window sum up to at most B + (tn - t1) / T < B + W / T, which T = W / (tpm - B) makes less than `tpm`. An estimate
larger than B is granted once all before it is paid for, so a window may hold one such estimate's excess over B on top.
What a permit did not use comes back when it is settled: tokens that were in flight when a window began may come back
within it.
"""

from dataclasses import dataclass
from math import ceil

WINDOW = 60_000_000  # microseconds
BURST_SHARE = 0.02  # of a minute's limit may come at once; the steady rate is lower by as much


@dataclass(frozen=True)
class Pace:
    """Microseconds of a limit: per unit, and those that may be taken at once. Zero: no limit."""

    interval: float
    burst: float


UNLIMITED = Pace(interval=0.0, burst=0.0)


def request_pace(rpm: int | None) -> Pace:
    """The pace of requests under a limit per minute; `UNLIMITED` for None."""
    if rpm is None:
        return UNLIMITED
    burst = max(1, int(rpm * BURST_SHARE))
    interval = ceil(WINDOW / (rpm - burst + 1))  # whole microseconds, rounded to the safe side
    return Pace(interval=float(interval), burst=float(burst * interval))


def token_pace(tpm: int | None) -> Pace:
    """The pace of tokens under a limit per minute; `UNLIMITED` for None.

    Under 50 tokens a minute the burst is 0: every permit waits until the one before it is paid for.
    """
    if tpm is None:
        return UNLIMITED
    burst = int(tpm * BURST_SHARE)
    interval = WINDOW / (tpm - burst)
    return Pace(interval=interval, burst=burst * interval)
