"""Waiting for something outside this process, within a bound."""

import threading
import time
from collections.abc import Callable

LOOK_EVERY = 0.02  # s, at first
SELDOM = 0.1  # s, later: to look is a question to the ledger or to the double, and both have work to do


def wait_until(condition: Callable[[], object], *, within: float, what: str) -> None:
    """Return as soon as `condition()` is true; fail the test after `within` seconds, saying what did not happen."""
    deadline = time.monotonic() + within
    pause, wait = threading.Event(), LOOK_EVERY
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"did not happen within {within:g} s: {what}")
        pause.wait(wait)
        wait = min(1.5 * wait, SELDOM)
