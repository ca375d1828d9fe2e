"""The consequence of a failed call: another call after a wait, an error of the item, or a pause of the batch.

| event | consequence | counts as a call | other calls wait too |
|---|---|---|---|
| rate_limited | wait as requested, else `rate_limit_wait`; repeated without a limit or deadline | no | yes |
| a Retry-After of over `LONGEST_WAIT` | pause the batch for this time | no | |
| no capacity at the flex tier | ask again when there may be capacity, see `capacity` | no | no |
| timeout, connection, server: all calls fail | wait until it answers, see `endpoint_health` | no | yes |
| timeout, connection: other calls succeed | exponential back-off, full jitter, within calls and deadline | yes | no |
| server: other calls succeed | back-off too, or the wait that a Retry-After requests | yes | only with a Retry-After |
| truncated | ask once more, with a larger token budget | yes | no |
| empty, malformed, invalid | ask once more, with a description of the defect | yes | no |
| unusable or truncated, and the request format has changed | repeat the original question | yes | no |
| unusable, like all earlier answers of the model in every request format | pause the batch | yes | |
| key, quota or model refused | ask again, twice at most; `REFUSALS` in a row pause the batch | no | one by one |
| any other 403 | give up; `FORBIDDEN` in a row pause the batch | yes | no |
| invalid_request, context_length, refused, content_filter | give up | | |

So one question makes at most `max_calls` calls that may be charged, and `REFUSALS` refused calls.

The functions of this module read no clock and draw no random numbers. They get both as arguments.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto
from typing import Self

from tamis_schemas import ErrorKind

from ..llm.chat import CallError

TRANSIENT = frozenset({ErrorKind.TIMEOUT, ErrorKind.CONNECTION, ErrorKind.SERVER})
ASKING_TO_WAIT = frozenset({ErrorKind.RATE_LIMITED, ErrorKind.SERVER})  # by a Retry-After
UNUSABLE = frozenset({ErrorKind.EMPTY, ErrorKind.MALFORMED, ErrorKind.INVALID})
REFUSED = frozenset({ErrorKind.AUTHENTICATION, ErrorKind.PERMISSION, ErrorKind.MODEL_NOT_FOUND})

LONGEST_WAIT = 300.0  # seconds; during a longer wait, items would only keep places that others need
REFUSALS = 3  # in a row, without an answer between: one may be a brief fault of a key server, three are a wrong key
FORBIDDEN = 5  # in a row: a 403 may also concern the text of one record, and five such records in a row are rare


class Then(Enum):
    """The possible consequences of a failed call."""

    RETRY = auto()
    GIVE_UP = auto()
    HALT = auto()  # the batch: no item of it would succeed


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The limits on the retries for one item. Times are in seconds."""

    max_calls: int  # of one question; counts the calls that may be charged
    deadline: float  # of the item, without rate-limit waits
    base: float = 1.0  # the longest wait after the first failure; it doubles with every further failure
    cap: float = 60.0  # the longest back-off
    rate_limit_wait: float = 5.0  # after a 429 without a Retry-After


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """The consequence of a failed call. Create a decision with `retry`, `give_up` or `halt`."""

    then: Then
    after: float = 0.0  # seconds until the next call, or until the end of the batch's pause; 0: people end the pause
    counts: bool = True  # the failed call counts against max_calls
    blocks: bool = False  # all calls to the endpoint and model wait
    larger_budget: bool = False  # the next answer may have more tokens
    anew: bool = False  # repeat the original question; do not quote the answer or count it against the item
    kind: ErrorKind | None = None  # of the error that ends the item or pauses the batch

    @property
    def again(self) -> bool:
        """True if another call follows."""
        return self.then is Then.RETRY

    @classmethod
    def retry(
        cls, after: float, counts: bool, *, blocks: bool = False, larger_budget: bool = False, anew: bool = False
    ) -> Self:
        """Return the decision to ask again after `after` seconds.

        Each other argument sets the field of the same name.
        """
        return cls(Then.RETRY, after=after, counts=counts, blocks=blocks, larger_budget=larger_budget, anew=anew)

    @classmethod
    def give_up(cls, kind: ErrorKind) -> Self:
        """Return the decision to end the item with an error of this kind."""
        return cls(Then.GIVE_UP, kind=kind)

    @classmethod
    def halt(cls, kind: ErrorKind, *, after: float = 0.0) -> Self:
        """Return the decision to pause the batch because of this kind of error, and to release the item's claim.

        `after`: seconds until the pause ends. If it is 0, the pause lasts until a person resumes the batch.
        """
        return cls(Then.HALT, after=after, kind=kind)


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
    """Return the consequence of a failed call.

    Args:
        error: the error of the latest call, or the defect of its answer.
        attempt: number of this question's calls that count so far, including the latest call.
        elapsed: seconds that the item has taken, without rate-limit waits.
        policy: the limits on the retries.
        jitter: a random number in [0, 1), drawn for every decision.
        earlier: the kinds of this question's earlier errors.
        in_a_row: number of calls of the process that were refused in a row, including the latest call.
        anew: the answer was unusable because of the request format, which has changed.
        hopeless: no answer of the model was usable in any request format.
    """
    kind = error.kind
    if error.no_capacity:
        return RetryDecision.retry(0.0, counts=False)
    if kind in ASKING_TO_WAIT and error.retry_after is not None and error.retry_after > LONGEST_WAIT:
        return RetryDecision.halt(ErrorKind.RATE_LIMITED, after=error.retry_after)
    if kind is ErrorKind.RATE_LIMITED:
        # At least half the wait: without a Retry-After, only this spreads the calls.
        default_wait = policy.rate_limit_wait * (0.5 + 0.5 * jitter)
        after = default_wait if error.retry_after is None else max(0.0, error.retry_after)
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
    """Return the seconds to wait after the n-th attempt: jitter x min(cap, base x 2^(n-1))."""
    doublings = min(attempt - 1, 64)  # a higher power exceeds the range of floats
    return jitter * min(policy.cap, policy.base * 2.0**doublings)


def _refused(error: CallError, earlier: Collection[ErrorKind], in_a_row: int) -> RetryDecision:
    if in_a_row >= (REFUSALS if error.everyone else FORBIDDEN):
        return RetryDecision.halt(error.kind)
    if error.everyone and 1 + sum(kind in REFUSED for kind in earlier) < REFUSALS:
        return RetryDecision.retry(0.0, counts=False)
    return RetryDecision.give_up(error.kind)  # other items get answers, so it concerns this item
