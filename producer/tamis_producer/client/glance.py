"""A quick read of the state of batches, over one connection, without the imports that submitting needs.

The methods return the same values as the methods of `Client`. A `Client` is used only for URLs that psycopg and
SQLAlchemy read differently, and for batches with people's decisions.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import UUID

from tamis_schemas import Summary

from ..config.settings import ProducerSettings
from ..ledger.batch_view import BatchView, ServiceTraffic
from ..ledger.direct import DirectConnection, direct_connection, driver_arguments
from ..ledger.finding import find_batch
from ..ledger.pool_kinds import CLIENT
from ..ledger.snapshots import SnapshotChange, read_snapshot_change
from ..ledger.views import read_service_traffic, read_summaries, read_views
from ..ledger.worker_view import WorkerView, read_live_workers

if TYPE_CHECKING:
    from .client import Client


@contextmanager
def glance() -> "Iterator[Client | Glance]":
    """Yield a reader of the configured ledger, valid inside the block.

    May raise `ConfigurationError`, `LedgerUnavailable` and `UnknownBatch`.
    """
    settings = ProducerSettings.load()
    arguments = driver_arguments(settings.database)
    if arguments is None:
        from .client import Client

        with Client(settings) as client:
            yield client
        return
    with direct_connection(arguments, CLIENT) as connection:
        yield Glance(connection)


class Glance:
    """A reader of the state of batches. Its methods return the same values as the methods of `Client`."""

    def __init__(self, connection: DirectConnection) -> None:
        self._connection = connection

    def batches(self, limit: int = 20) -> list[BatchView]:
        return read_views(self._connection, limit=limit)

    def service_traffic(self, hours: int = 24) -> list[ServiceTraffic]:
        return read_service_traffic(self._connection, hours=hours)

    def workers(self) -> list[WorkerView]:
        return read_live_workers(self._connection)

    def batch(self, batch_id: str) -> "BatchGlance":
        return BatchGlance(self._connection, find_batch(self._connection, batch_id))


class BatchGlance:
    """A reader of one batch's state. Its methods return the same values as the methods of `Batch`."""

    def __init__(self, connection: DirectConnection, batch_id: UUID) -> None:
        self._connection = connection
        self._id = batch_id

    @property
    def id(self) -> str:
        return str(self._id)

    def status(self) -> BatchView:
        return read_views(self._connection, batch_id=self._id)[0]

    def summaries(self) -> list[Summary]:
        return read_summaries(self._connection, self._id)

    def snapshot_change(self) -> SnapshotChange | None:
        """Return the batch's models, if they changed within the batch or since an earlier batch; else None."""
        return read_snapshot_change(self._connection, self._id)

    def read_by_people(self) -> bool:
        """Return whether people made decisions in the batch, or set its screening mode.

        If so, only a `Client` can count the decisions.
        """
        rows = (
            "SELECT 1 AS one FROM overrides WHERE batch_id = %(batch_id)s "
            "UNION ALL SELECT 1 FROM screening_modes WHERE batch_id = %(batch_id)s LIMIT 1"
        )
        return bool(list(self._connection.exec_driver_sql(rows, {"batch_id": self._id})))
