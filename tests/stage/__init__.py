"""Real parts for tests: worker processes, commands, records, bounded waits."""

from .command import Finished, tamis
from .house import House
from .items import abstracts
from .waiting import wait_until
from .worker_process import WorkerProcess

__all__ = ["Finished", "House", "WorkerProcess", "abstracts", "tamis", "wait_until"]
