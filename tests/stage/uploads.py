"""Calls for the process that reads an upload: it imports them from here."""

import os
import resource
import signal
from pathlib import Path
from threading import Event

from stage import abstracts
from tamis_producer import Client
from tamis_schemas import Filter

ROOM = 400 * 2**20  # bytes


def limits() -> list[int]:
    """Its priority, and the most bytes of its memory."""
    return [os.nice(0), resource.getrlimit(resource.RLIMIT_DATA)[0]]


def greedy() -> int:
    """More than it may have, in objects as a reader makes them."""
    resource.setrlimit(resource.RLIMIT_DATA, (ROOM, ROOM))
    return len([{"title": str(n)} for n in range(10_000_000)])


def endless(pid: Path) -> None:
    """Nothing, for ever."""
    pid.write_text(str(os.getpid()))
    Event().wait()


def submits_and_dies(client: Client) -> None:
    """A batch is committed, and nobody hears of it."""
    client.submit(Filter(criteria="Is it?"), abstracts(3), idempotency_key="attempt-1")
    os.kill(os.getpid(), signal.SIGKILL)
