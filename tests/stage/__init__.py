"""Real parts for tests: worker processes, commands, records, bounded waits."""

from .command import Finished, tamis
from .house import House
from .items import abstracts
from .reckoning import Faults, Reckoning, reckon
from .waiting import wait_until
from .worker_process import WorkerProcess

__all__ = [
    "Faults",
    "Finished",
    "House",
    "Reckoning",
    "WorkerProcess",
    "abstracts",
    "reckon",
    "tamis",
    "wait_until",
]
