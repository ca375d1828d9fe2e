"""A client, a double and a worker that several tests share."""

from dataclasses import dataclass

from llm_double import Double
from tamis_producer import Client

from .worker_process import WorkerProcess


@dataclass(frozen=True)
class House:
    """Running parts; the double is put back to its beginnings by `fresh`."""

    client: Client
    double: Double
    worker: WorkerProcess
    environment: dict[str, str]

    def fresh(self) -> "House":
        """Itself, with a double that remembers nothing."""
        self.double.reset()
        return self
