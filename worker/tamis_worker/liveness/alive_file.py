"""The file by which a worker shows that it works: written by its watchdog, read by probes and supervisors.

Its time is the machine's clock that counts from the start and is never set: the reader runs on the same machine.
"""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

FRESH = 30.0  # s; a watchdog looks every 5 s, and may wait that long for a broker that does not answer


@dataclass(frozen=True)
class AliveFile:
    """The last thing that a worker's watchdog saw."""

    pid: int
    at: float  # s, `time.monotonic`
    state: str
    reason: str | None = None  # of a state other than working
    stalled: str | None = None  # why the worker ended itself

    def write(self, path: Path) -> None:
        """Put the file in place in one step."""
        draft = path.with_name(f"{path.name}.draft")
        draft.write_text(json.dumps(asdict(self)), "utf-8")
        draft.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """The content of the file; None where there is no such file, or none of ours."""
        try:
            return cls(**json.loads(path.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None


@dataclass(frozen=True)
class Health:
    """Whether a worker works, and a line that says so."""

    well: bool
    line: str


def health_of(file: AliveFile | None, now: float, *, within: float = FRESH) -> Health:
    """The health that a worker's file shows `now` seconds after the machine's start.

    A worker that holds back, while a server is in trouble, is well: starting it anew would mend nothing.
    """
    if file is None:
        return Health(False, "no worker writes this file: start one with `tamis worker --alive-file FILE`")
    if file.stalled is not None:
        return Health(False, f"worker {file.pid} {file.stalled}")
    age = now - file.at
    if not 0 <= age <= within:
        when = f"{age:.0f} s ago" if age >= 0 else "before this machine was started"
        return Health(False, f"worker {file.pid} was last seen working {when}")
    state = file.state if file.reason is None else f"{file.state}: {file.reason}"
    return Health(True, f"worker {file.pid} is {state}")


def health_at(path: Path, *, within: float = FRESH) -> Health:
    """The health that the file shows now."""
    return health_of(AliveFile.read(path), time.monotonic(), within=within)
