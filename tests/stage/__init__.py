"""Real parts for tests: worker processes, records, bounded waits."""

from .items import abstracts
from .waiting import wait_until
from .worker_process import WorkerProcess

__all__ = ["WorkerProcess", "abstracts", "wait_until"]
