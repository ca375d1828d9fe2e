"""The watchdog: ends a worker process that lives but does no work, so that its supervisor starts a new process.

The watchdog judges by progress, because a process may answer every ping and yet take no messages, or have a blocked
event loop. So the watchdog checks that waiting messages are taken, that the loop runs, and that no permanent task has
ended. The watchdog has a separate thread, which neither the loop nor the consumer can block.

The watchdog writes a file that shows that its worker works. Probes and supervisors read the file on the same machine,
so the time in the file is by the machine's monotonic clock.
"""

import json
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

EXIT_STALLED = 75  # "temporary failure, try again" in <sysexits.h>; no other end of a worker has this code

log = logging.getLogger(__name__)

FRESH = 30.0  # s; a watchdog looks every 5 s, and may wait that long for an unresponsive broker


@dataclass(frozen=True, slots=True)
class Observation:
    """The figures of the watchdog's process at one moment. `at`: the moment, in seconds of a monotonic clock."""

    at: float
    waiting: int | None  # messages in the queues; None: the broker did not answer
    taken: int  # messages taken so far
    in_flight: int  # messages that the process holds
    holding_back: bool  # the process takes no messages on purpose, because a server is in trouble
    turns: int  # a counter that the running event loop raises four times a second
    writing: float = 0.0  # s of the longest write to the ledger in progress
    ended: tuple[str, ...] = ()  # permanent tasks that have ended
    stopping: float | None = None  # s since the request to stop


@dataclass(frozen=True, kw_only=True)
class WatchdogBounds:
    """The limits of the watchdog, in seconds except `concurrency`."""

    stalled_after: float  # longest time without taking a message, or without a count of the loop
    concurrency: int  # messages that the process may hold; a number, not seconds
    write_within: float  # longest write to the ledger
    stop_within: float  # longest time from the request to stop to the end of the process
    farewell: float  # time after a stall for calls in flight to finish


def stalled(seen: Sequence[Observation], bounds: WatchdogBounds) -> str | None:
    """Return the fault of the process, in words that follow "this worker"; None if no fault is known.

    `seen`: the observations so far, in order. Observations before a long gap do not count, because the whole process
    was suspended during the gap.
    """
    now = seen[-1]
    if now.stopping is not None:
        too_long = now.stopping > bounds.stop_within
        return f"was asked to stop, but did not within {bounds.stop_within:.0f} s" if too_long else None
    if now.ended:
        return f"has lost {', '.join(now.ended)}, which must always run"
    if now.writing > bounds.write_within:
        return f"has waited {now.writing:.0f} s for the ledger to accept one group of writes"
    looks = _unbroken(seen, bounds.stalled_after / 2)
    still = _lasting(looks, lambda look: look.turns == now.turns)
    if still >= bounds.stalled_after:
        return f"has an event loop that did not turn for {still:.0f} s"
    idle = _lasting(looks, lambda look: look.taken == now.taken and _could_take(look, bounds))
    if idle >= bounds.stalled_after:
        free = bounds.concurrency - now.in_flight
        return f"took no message for {idle:.0f} s, although {now.waiting} messages wait and {free} places are free"
    return None


def _could_take(look: Observation, bounds: WatchdogBounds) -> bool:
    return bool(look.waiting) and look.in_flight < bounds.concurrency and not look.holding_back


def _unbroken(seen: Sequence[Observation], gap: float) -> Sequence[Observation]:
    """Return the observations after the latest gap of more than `gap` seconds; all observations if there is no gap."""
    for place in range(len(seen) - 1, 0, -1):
        if seen[place].at - seen[place - 1].at > gap:
            return seen[place:]
    return seen


def _lasting(looks: Sequence[Observation], holds: Callable[[Observation], bool]) -> float:
    """Return the seconds, up to the last observation, during which `holds` was true of every observation."""
    since = looks[-1].at
    for look in reversed(looks):
        if not holds(look):
            break
        since = look.at
    return looks[-1].at - since


class Watchdog(threading.Thread):
    """The thread that observes the process from `start` to `end`.

    When the watchdog finds a fault (`verdict`), it ends the process with the exit code `EXIT_STALLED`.
    """

    def __init__(
        self,
        observe: Callable[[], Observation],
        bounds: WatchdogBounds,
        *,
        tell: Callable[[Observation, str | None], None],
        stop: Callable[[], None] = lambda: os.kill(os.getpid(), signal.SIGTERM),
        leave: Callable[[int], None] = os._exit,
    ) -> None:
        """Prepare the thread.

        Args:
            observe: returns an observation of the process; may take a few seconds.
            tell: called with each observation, and with the fault of the process or None.
            stop: begins a soft shutdown of the process. The process must then call `end`.
            leave: ends the process at once, with the exit code that it receives.
        """
        super().__init__(name="tamis watchdog", daemon=True)
        self.verdict: str | None = None
        self._observe = observe
        self._bounds = bounds
        self._tell = tell
        self._stop = stop
        self._leave = leave
        self._ended = threading.Event()
        self._seen: list[Observation] = []

    def run(self) -> None:
        while self.verdict is None and not self._ended.wait(min(5.0, self._bounds.stalled_after / 6)):
            try:
                self.look(self._observe())
            except Exception:  # a failed look shows nothing about the process; the next look follows
                log.exception("the watchdog's check failed")

    def look(self, observation: Observation) -> None:
        """Judge the process by this observation and the earlier ones. End the process if it has stalled."""
        recent = [look for look in self._seen if observation.at - look.at <= 2 * self._bounds.stalled_after]
        self._seen = [*recent, observation]
        self.verdict = stalled(self._seen, self._bounds)
        try:
            self._tell(observation, self.verdict)
        except OSError as error:  # a full disk: readers of the file will consider this process stalled
            log.warning("the alive file could not be written: %s", error)
        if self.verdict is not None:
            self._bring_to_an_end(observation)

    def end(self) -> None:
        """Stop observing the process."""
        self._ended.set()

    def _bring_to_an_end(self, observation: Observation) -> None:
        log.critical("this worker %s: it ends with exit code %d so that it is restarted", self.verdict, EXIT_STALLED)
        log.error("the stacks of its threads:\n%s", _stacks())
        loop_turns = len(self._seen) < 2 or self._seen[-2].turns != observation.turns
        if observation.stopping is None and loop_turns:  # without the loop no item could be returned
            self._stop()
            if self._ended.wait(self._bounds.farewell):
                return  # the caller of `end` leaves with the code
            log.error("it did not stop by itself within %.0f s", self._bounds.farewell)
        self._leave(EXIT_STALLED)


def _stacks() -> str:
    """Return the stack of every other thread, without the values of variables."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return "\n".join(
        f"{names.get(ident, 'unknown')}:\n{''.join(traceback.format_stack(frame, limit=12))}"
        for ident, frame in sys._current_frames().items()
        if ident != threading.get_ident()
    )


@dataclass(frozen=True)
class AliveFile:
    """The content of the file that shows whether a worker works: its watchdog's latest observation."""

    pid: int
    at: float  # s, `time.monotonic`
    state: str
    reason: str | None = None  # why the worker does not work now
    stalled: str | None = None  # why the watchdog ended the worker

    def write(self, path: Path) -> None:
        """Write the file atomically."""
        draft = path.with_name(f"{path.name}.draft")
        draft.write_text(json.dumps(asdict(self)), "utf-8")
        draft.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return the content of the file; None if the file is missing or cannot be understood."""
        try:
            return cls(**json.loads(path.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None


@dataclass(frozen=True)
class WorkerHealth:
    """The health of a worker, and a line that describes it."""

    well: bool
    line: str


def health_of(file: AliveFile | None, now: float, *, within: float = FRESH) -> WorkerHealth:
    """Return a worker's health from its file. `now` is a time of the machine's monotonic clock.

    If the file is older than `within` seconds, the worker is unhealthy. A worker that waits for a server in trouble is
    healthy: a restart would not help.
    """
    if file is None:
        return WorkerHealth(False, "no worker writes this file: start one with `tamis worker --alive-file FILE`")
    if file.stalled is not None:
        return WorkerHealth(False, f"worker {file.pid} {file.stalled}")
    age = now - file.at
    if not 0 <= age <= within:
        when = f"{age:.0f} s ago" if age >= 0 else "before this machine started"
        return WorkerHealth(False, f"worker {file.pid} was last seen working {when}")
    state = file.state if file.reason is None else f"{file.state}: {file.reason}"
    return WorkerHealth(True, f"worker {file.pid} is {state}")


def health_at(path: Path, *, within: float = FRESH) -> WorkerHealth:
    """Return the present health of a worker from the file at `path`.

    If the file is older than `within` seconds, the worker is unhealthy.
    """
    return health_of(AliveFile.read(path), time.monotonic(), within=within)
