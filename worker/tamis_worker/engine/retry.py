"""What follows from a call without a usable answer: another call, after a while, or none.

| kind | what follows | counts | others wait too |
|---|---|---|---|
| rate_limited | wait as asked, else `rate_limit_wait`; for ever, the deadline does not apply | no | yes |
| timeout, connection | exponential back-off with full jitter, within calls and deadline | yes | no |
| server | the same; with a Retry-After wait as asked | yes | with a Retry-After |
| truncated | once more, with a larger token budget | yes | no |
| empty, malformed, invalid | once more in all | yes | no |
| authentication, permission, model_not_found, invalid_request, context_length, refused, content_filter | give up | | |

Pure: time, attempts and randomness are arguments.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from tamis_schemas import ErrorKind

from .chat import CallError

TRANSIENT = frozenset({ErrorKind.TIMEOUT, ErrorKind.CONNECTION, ErrorKind.SERVER})
UNUSABLE = frozenset({ErrorKind.EMPTY, ErrorKind.MALFORMED, ErrorKind.INVALID})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How patient one item is. Times are in seconds."""

    max_calls: int  # that count
    deadline: float  # of the item, rate-limit waits not counted
    base: float = 1.0  # the longest wait after the first failure; doubles with every further one
    cap: float = 60.0  # no back-off is longer
    rate_limit_wait: float = 5.0  # after a 429 that does not say how long


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """Ask again after a while, or give up with a kind. Made by `retry` and `give_up`."""

    again: bool
    after: float = 0.0  # seconds
    counts: bool = True  # against max_calls
    blocks: bool = False  # the whole endpoint and model: everyone waits
    larger_budget: bool = False  # for the tokens of the next answer
    kind: ErrorKind | None = None  # of the error that the item ends with; None where it is asked again

    @classmethod
    def retry(cls, after: float, counts: bool, *, blocks: bool = False, larger_budget: bool = False) -> Self:
        """Ask again, `after` seconds from now."""
        return cls(again=True, after=after, counts=counts, blocks=blocks, larger_budget=larger_budget)

    @classmethod
    def give_up(cls, kind: ErrorKind) -> Self:
        """The item ends with an error of this kind."""
        return cls(again=False, kind=kind)


def decide(
    error: CallError,
    *,
    attempt: int,
    elapsed: float,
    policy: RetryPolicy,
    jitter: float,
    earlier: Collection[ErrorKind] | None = None,
) -> RetryDecision:
    """What follows from an error.

    Args:
        error: of the call just made.
        attempt: calls made so far that count, this one included; from 1.
        elapsed: seconds since the item's first call, rate-limit waits taken out.
        policy: the item's patience.
        jitter: in [0, 1), drawn anew for every decision.
        earlier: the kinds of this item's errors before this one; where it is not given, every earlier attempt is taken
            to have failed in the same way, so that a second chance is only given to a first attempt.
    """
    kind = error.kind
    if kind is ErrorKind.RATE_LIMITED:
        # Never sooner than half the wait: without a Retry-After nothing else keeps calls from coming at once.
        unasked = policy.rate_limit_wait * (0.5 + 0.5 * jitter)
        after = unasked if error.retry_after is None else max(0.0, error.retry_after)
        return RetryDecision.retry(after, counts=False, blocks=True)
    if attempt >= policy.max_calls:
        return RetryDecision.give_up(kind)
    if kind in TRANSIENT:
        asked = error.retry_after if kind is ErrorKind.SERVER else None
        after = max(0.0, asked) if asked is not None else backoff(attempt, policy, jitter)
        decision = RetryDecision.retry(after, counts=True, blocks=asked is not None)
    elif kind is ErrorKind.TRUNCATED and not _met({kind}, earlier, attempt):
        decision = RetryDecision.retry(0.0, counts=True, larger_budget=True)
    elif kind in UNUSABLE and not _met(UNUSABLE, earlier, attempt):
        decision = RetryDecision.retry(0.0, counts=True)
    else:
        return RetryDecision.give_up(kind)
    if elapsed + decision.after >= policy.deadline:
        return RetryDecision.give_up(kind)
    return decision


def backoff(attempt: int, policy: RetryPolicy, jitter: float) -> float:
    """Seconds to wait after the n-th attempt: jitter x min(cap, base x 2^(n-1))."""
    doublings = min(attempt - 1, 64)  # beyond, the power leaves the floats
    return jitter * min(policy.cap, policy.base * 2.0**doublings)


def _met(kinds: Collection[ErrorKind], earlier: Collection[ErrorKind] | None, attempt: int) -> bool:
    if earlier is None:
        return attempt > 1
    return any(kind in kinds for kind in earlier)
