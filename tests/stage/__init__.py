"""Real parts for tests: worker processes, commands, records, bounded waits."""

from .command import Finished, python_path, tamis
from .crew import Crew
from .house import House
from .items import abstracts
from .reckoning import Faults, Reckoning, reckon
from .tcp_proxy import TcpProxy, through
from .waiting import wait_until
from .worker_process import WorkerProcess

__all__ = [
    "Crew",
    "Faults",
    "Finished",
    "House",
    "Reckoning",
    "TcpProxy",
    "WorkerProcess",
    "abstracts",
    "python_path",
    "reckon",
    "tamis",
    "through",
    "wait_until",
]
