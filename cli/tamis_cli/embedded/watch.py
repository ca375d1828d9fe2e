"""The watch over a running stack, which restarts parts that end by themselves."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tamis_schemas import TamisError

from .part import Part

LOOK_EVERY = 0.25  # seconds
FIRST_DELAY = 0.5  # seconds
LONGEST_DELAY = 30.0  # seconds
STEADY = 60.0  # seconds of running after which earlier failures no longer count


def restart_delay(failures: int) -> float:
    """Return the seconds before a restart: `FIRST_DELAY`, doubled by each further failure, up to `LONGEST_DELAY`."""
    return float(min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(failures - 1, 16)))


def failures_in_a_row(before: int, ran_for: float) -> int:
    """Return the failures in a row of a part that has ended: 1 if it ran for `STEADY` seconds, else `before` + 1."""
    return 1 if ran_for >= STEADY else before + 1


@dataclass
class _Watched:
    part: Part
    failures: int = 0
    due: float | None = None  # time of the planned restart, by the monotonic clock; None: none is planned
    coming_back: bool = False  # restarted, not healthy yet


class Watch(threading.Thread):
    """The thread that restarts parts that ended, until `end()` is called.

    `announce` receives a line when a part has ended, and when the part runs again. The kernel ends a child process
    together with the thread that started it. So this thread lives on after `end()`, until `release()` is called.
    """

    def __init__(self, parts: Sequence[Part], announce: Callable[[str], None]) -> None:
        super().__init__(name="tamis-watch", daemon=True)
        self._watched = [_Watched(part) for part in parts]
        self._announce = announce
        self._ended = threading.Event()
        self._released = threading.Event()
        self._looking = threading.Lock()

    def run(self) -> None:
        while not self._ended.wait(LOOK_EVERY):
            with self._looking:
                if not self._ended.is_set():
                    self.look(time.monotonic())
        self._released.wait()

    def end(self) -> None:
        """Stop restarting parts, and wait for a restart that is under way."""
        self._ended.set()
        with self._looking:
            pass

    def release(self) -> None:
        """End the thread. Call this after the children that the thread started have ended."""
        self._released.set()
        self.join()

    def look(self, now: float) -> None:
        """Check every part once: plan or begin the restart of a part that has ended, and announce a recovery."""
        for watched in self._watched:
            if watched.due is not None:
                if now >= watched.due:
                    self._start_again(watched, now)
            elif not watched.part.process.running:
                self._plan(watched, now, watched.part.how_it_ended())
            elif watched.coming_back and watched.part.healthy():
                watched.coming_back = False
                self._announce(f"{watched.part.name} works again")

    def _start_again(self, watched: _Watched, now: float) -> None:
        watched.due = None
        try:
            watched.part.launch()
        except TamisError as error:
            self._plan(watched, now, f"cannot be started: {error}")
        else:
            watched.coming_back = True

    def _plan(self, watched: _Watched, now: float, what: str) -> None:
        process = watched.part.process
        watched.failures = failures_in_a_row(watched.failures, now - process.started_at)
        delay = restart_delay(watched.failures)
        watched.due = now + delay
        watched.coming_back = False
        self._announce(f"{watched.part.name} {what}; it restarts in {delay:g} s (log: {process.command.log})")
