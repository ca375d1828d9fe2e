"""What the command line asks of every benchmark."""

import sys
from dataclasses import dataclass

TAMIS, BARE, NAIVE = "tamis", "bare", "naive"
# Of the throughput.
CONTESTANTS = {TAMIS: "Tamis", BARE: "bare asyncio + AsyncOpenAI loop", NAIVE: "naive Celery recipe (gevent, chord)"}


@dataclass(frozen=True)
class Options:
    """None: as the benchmark has it for a full run, or for a short one."""

    short: bool = False
    items: int | None = None
    processes: tuple[int, ...] | None = None
    repetitions: int | None = None
    only: str | None = None  # one contestant of the throughput: tamis, bare, naive

    def say(self, what: str) -> None:
        """Tell whoever watches what is being measured; the tables have standard output for themselves."""
        sys.stderr.write(f"{what}\n")
        sys.stderr.flush()
