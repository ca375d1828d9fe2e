"""The consequence of a call that failed: another one after a while, an error of the item, or the end of the batch.

| what came | what follows | counts | others wait too |
|---|---|---|---|
| rate_limited | wait as asked, else `rate_limit_wait`; for ever, the deadline does not apply | no | yes |
| no capacity at the flex tier | ask again when there may be some, see `capacity` | no | no |
| timeout, connection | exponential back-off with full jitter, within calls and deadline | yes | no |
| server | the same; with a Retry-After wait as asked | yes | with a Retry-After |
| truncated | once more, with a larger token budget | yes | no |
| empty, malformed, invalid | once more in all, with what is wrong | yes | no |
| the same or truncated, and the model is asked in another way from now on | the question anew | yes | no |
| the same, and no answer of the model could ever be used | halt the batch | yes | |
| key, quota or model refused | once more, twice at most; `REFUSALS` in a row halt the batch | no | one by one |
| any other 403 | give up; `FORBIDDEN` in a row halt the batch | yes | no |
| invalid_request, context_length, refused, content_filter | give up | | |

So one question makes at most `max_calls` calls that may be paid for, and `REFUSALS` that were refused at the door.

Pure: time, attempts and randomness are arguments.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto
from typing import Self

from tamis_schemas import ErrorKind

from ..llm.chat import CallError

TRANSIENT = frozenset({ErrorKind.TIMEOUT, ErrorKind.CONNECTION, ErrorKind.SERVER})
UNUSABLE = frozenset({ErrorKind.EMPTY, ErrorKind.MALFORMED, ErrorKind.INVALID})
REFUSED = frozenset({ErrorKind.AUTHENTICATION, ErrorKind.PERMISSION, ErrorKind.MODEL_NOT_FOUND})

REFUSALS = 3  # in a row, without an answer between: one may be a key server that stumbles, three are a wrong key
FORBIDDEN = 5  # in a row: a 403 may also be about what one record says, and five such records in a row are rare


class Then(Enum):
    """The consequences there are."""

    RETRY = auto()
    GIVE_UP = auto()
    HALT = auto()  # the batch: no item of it would fare better


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The patience with one item. Times are in seconds."""

    max_calls: int  # of one question, that count
    deadline: float  # of the item, rate-limit waits not counted
    base: float = 1.0  # the longest wait after the first failure; doubles with every further one
    cap: float = 60.0  # no back-off is longer
    rate_limit_wait: float = 5.0  # after a 429 that does not say how long


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """The consequence of a call that failed. Made by `retry`, `give_up` and `halt`."""

    then: Then
    after: float = 0.0  # seconds
    counts: bool = True  # against max_calls
    blocks: bool = False  # the whole endpoint and model: everyone waits
    larger_budget: bool = False  # for the tokens of the next answer
    anew: bool = False  # the original question: nothing of this answer is told, or held against the item
    kind: ErrorKind | None = None  # of the error that the item ends with, or that halts the batch

    @property
    def again(self) -> bool:
        """True where another call follows."""
        return self.then is Then.RETRY

    @classmethod
    def retry(
        cls, after: float, counts: bool, *, blocks: bool = False, larger_budget: bool = False, anew: bool = False
    ) -> Self:
        """Ask again, `after` seconds from now."""
        return cls(Then.RETRY, after=after, counts=counts, blocks=blocks, larger_budget=larger_budget, anew=anew)

    @classmethod
    def give_up(cls, kind: ErrorKind) -> Self:
        """The item ends with an error of this kind."""
        return cls(Then.GIVE_UP, kind=kind)

    @classmethod
    def halt(cls, kind: ErrorKind) -> Self:
        """The batch is paused with a reason of this kind, and the item is given back."""
        return cls(Then.HALT, kind=kind)


def decide(
    error: CallError,
    *,
    attempt: int,
    elapsed: float,
    policy: RetryPolicy,
    jitter: float,
    earlier: Collection[ErrorKind] = (),
    in_a_row: int = 1,
    anew: bool = False,
    hopeless: bool = False,
) -> RetryDecision:
    """Decide what follows from a call that failed.

    Args:
        error: of the call just made, or why its answer cannot be used.
        attempt: calls made for this question so far that count, this one included; from 1.
        elapsed: seconds that the item has taken, rate-limit waits taken out.
        policy: the item's patience.
        jitter: in [0, 1), drawn anew for every decision.
        earlier: the kinds of this question's errors before this one.
        in_a_row: calls refused like this one without an answer between, by whichever item of the process they were
            made, this one included.
        anew: the answer could not be used because of the way in which the model was asked, which is another one now.
        hopeless: no answer of the model could be used, in whatever way it was asked.
    """
    kind = error.kind
    if error.no_capacity:
        return RetryDecision.retry(0.0, counts=False)
    if kind is ErrorKind.RATE_LIMITED:
        # Never sooner than half the wait: without a Retry-After nothing else keeps calls from coming at once.
        unasked = policy.rate_limit_wait * (0.5 + 0.5 * jitter)
        after = unasked if error.retry_after is None else max(0.0, error.retry_after)
        return RetryDecision.retry(after, counts=False, blocks=True)
    if error.everyone or kind is ErrorKind.PERMISSION:
        return _refused(error, earlier, in_a_row)
    if hopeless:
        return RetryDecision.halt(kind)
    if attempt >= policy.max_calls:
        return RetryDecision.give_up(kind)
    if kind in TRANSIENT:
        retry_after = error.retry_after if kind is ErrorKind.SERVER else None
        after = max(0.0, retry_after) if retry_after is not None else backoff(attempt, policy, jitter)
        decision = RetryDecision.retry(after, counts=True, blocks=retry_after is not None)
    elif anew and (kind in UNUSABLE or kind is ErrorKind.TRUNCATED):
        decision = RetryDecision.retry(0.0, counts=True, anew=True)
    elif kind is ErrorKind.TRUNCATED and kind not in earlier:
        decision = RetryDecision.retry(0.0, counts=True, larger_budget=True)
    elif kind in UNUSABLE and UNUSABLE.isdisjoint(earlier):
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


def _refused(error: CallError, earlier: Collection[ErrorKind], in_a_row: int) -> RetryDecision:
    if in_a_row >= (REFUSALS if error.everyone else FORBIDDEN):
        return RetryDecision.halt(error.kind)
    if error.everyone and 1 + sum(kind in REFUSED for kind in earlier) < REFUSALS:
        return RetryDecision.retry(0.0, counts=False)
    return RetryDecision.give_up(error.kind)  # others are answered meanwhile: it is this item
