"""A broker that was away a moment ago is taken to be away still: not every call waits to find it out."""

import time
from collections.abc import Callable

LASTS = 5.0  # s; meanwhile the workers dispatch what is submitted


class BrokerAbsence:
    """The broker's absence, as far as one process knows of it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: float | None = None

    def begins(self) -> None:
        """Note that the broker did not answer just now."""
        self._until = self._clock() + LASTS

    @property
    def lasts(self) -> bool:
        """Whether it did not answer within the last `LASTS` seconds."""
        return self._until is not None and self._clock() < self._until
