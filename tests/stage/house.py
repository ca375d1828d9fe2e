"""A client, a double and a worker that several tests share."""

from dataclasses import dataclass

from sqlalchemy import text

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
        """Itself, with a double that remembers nothing and a ledger that keeps no answer."""
        self.double.reset()
        with self.client.engine.begin() as connection:
            connection.execute(text("DELETE FROM llm_cache"))
        return self
