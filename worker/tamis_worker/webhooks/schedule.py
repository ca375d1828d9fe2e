"""The schedule of a webhook's tries: a pure function of the receiver's answer and the number of tries.

The tries follow the suggestion of Standard Webhooks, and end after one day.
"""

from dataclasses import dataclass
from http import HTTPStatus

SECOND, MINUTE, HOUR, DAY = 1.0, 60.0, 3_600.0, 86_400.0
# After the first try, the second, ...; tries are 5 s, 5 min, 35 min, 2.6 h, 7.6 h, 17.6 h and 24 h after the event.
WAITS = (5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 6.4 * HOUR)
JITTER = 0.1  # of a wait, at most: simultaneous failures are not retried simultaneously
LONGEST_ASKED = 10 * HOUR  # the longest delay that a receiver may request
MAY_ASK = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


@dataclass(frozen=True)
class DeliveryAnswer:
    """The receiver's answer to one try, or the reason why there is no answer."""

    status: int | None  # HTTP status; None: no answer
    said: str  # the answer or the reason in a few words
    retry_after: float | None = None  # seconds that the receiver asks to wait

    @property
    def delivered(self) -> bool:
        """True if the receiver accepted the webhook."""
        return self.status is not None and 200 <= self.status < 300


@dataclass(frozen=True)
class DeliveryDecision:
    """The consequence of an answer: delivered, given up, or tried again after some seconds."""

    delivered: bool
    wait: float | None  # seconds; None: no further try
    said: str


def decide(answer: DeliveryAnswer, tries: int, *, jitter: float = 0.0) -> DeliveryDecision:
    """Return the consequence of the receiver's answer.

    Args:
        answer: the answer to the latest try.
        tries: tries begun so far, including the latest; from 1.
        jitter: a random number from 0 to 1.
    """
    if answer.delivered:
        return DeliveryDecision(True, None, answer.said)
    if answer.status == HTTPStatus.GONE:
        return DeliveryDecision(False, None, f"{answer.said}: the receiver wants no more webhooks; given up")
    if tries > len(WAITS):
        return DeliveryDecision(False, None, f"{answer.said}; given up after {tries} tries in a day")
    requested = answer.retry_after if answer.status in MAY_ASK else None
    wait = max(WAITS[tries - 1], min(requested or 0.0, LONGEST_ASKED))
    return DeliveryDecision(False, wait * (1 + JITTER * jitter), answer.said)
