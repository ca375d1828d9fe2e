"""When a webhook is tried again: a pure function of what the receiver answered and how often it was asked.

The waits are those that Standard Webhooks suggests, up to the end of a day.
"""

from dataclasses import dataclass
from http import HTTPStatus

SECOND, MINUTE, HOUR, DAY = 1.0, 60.0, 3_600.0, 86_400.0
# After the first try, the second, ...; tries lie 5 s, 5 min, 35 min, 2.6 h, 7.6 h, 17.6 h and 24 h behind the event.
WAITS = (5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 6.4 * HOUR)
JITTER = 0.1  # of a wait, at most: what failed together does not come again together
LONGEST_ASKED = 10 * HOUR  # that a receiver may put a try off by
MAY_ASK = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


@dataclass(frozen=True)
class DeliveryAnswer:
    """The receiver's answer to one try, or why there is none."""

    status: int | None  # None: there was no answer
    said: str  # in a few words, for people
    retry_after: float | None = None  # seconds, as the receiver asks

    @property
    def delivered(self) -> bool:
        """True where the receiver has it."""
        return self.status is not None and 200 <= self.status < 300


@dataclass(frozen=True)
class DeliveryDecision:
    """The consequence of an answer: delivered, given up, or tried again after some seconds."""

    delivered: bool
    wait: float | None  # seconds; None: it is not tried again
    said: str


def decide(answer: DeliveryAnswer, tries: int, *, jitter: float = 0.0) -> DeliveryDecision:
    """Return what follows on the answer to the try of this number, from 1.

    Args:
        answer: of the receiver.
        tries: how many were begun, this one among them.
        jitter: a random number from 0 to 1.
    """
    if answer.delivered:
        return DeliveryDecision(True, None, answer.said)
    if answer.status == HTTPStatus.GONE:
        return DeliveryDecision(False, None, f"{answer.said}: the receiver wants no more; given up")
    if tries > len(WAITS):
        return DeliveryDecision(False, None, f"{answer.said}; given up after {tries} tries in a day")
    put_off = answer.retry_after if answer.status in MAY_ASK else None
    wait = max(WAITS[tries - 1], min(put_off or 0.0, LONGEST_ASKED))
    return DeliveryDecision(False, wait * (1 + JITTER * jitter), answer.said)
