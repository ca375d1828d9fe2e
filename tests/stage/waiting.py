"""Waiting for something outside this process, within a bound."""

import threading
import time
from collections.abc import Callable

LOOK_EVERY = 0.02  # s


def wait_until(condition: Callable[[], object], *, within: float, what: str) -> None:
    """Return as soon as `condition()` is true; fail the test after `within` seconds, saying what did not happen."""
    deadline = time.monotonic() + within
    pause = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"did not happen within {within:g} s: {what}")
        pause.wait(LOOK_EVERY)
