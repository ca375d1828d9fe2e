"""The command line's options for every benchmark."""

import sys
from dataclasses import dataclass

TAMIS, BARE, NAIVE = "tamis", "bare", "naive"
# Of the throughput.
CONTESTANTS = {TAMIS: "Tamis", BARE: "bare asyncio + AsyncOpenAI loop", NAIVE: "naive Celery recipe (gevent, chord)"}


@dataclass(frozen=True)
class Options:
    """The options. None: the benchmark's own value for a full or a short run."""

    short: bool = False
    items: int | None = None
    processes: tuple[int, ...] | None = None
    repetitions: int | None = None
    only: str | None = None  # one contestant of the throughput: tamis, bare, naive

    def say(self, what: str) -> None:
        """Write to standard error which figure is being measured. Standard output is for the tables."""
        sys.stderr.write(f"{what}\n")
        sys.stderr.flush()
