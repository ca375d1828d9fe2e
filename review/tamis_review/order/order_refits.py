"""Orders as a client has them worked out: in the caller's thread, or in a process beside it."""

import logging
from concurrent.futures import Future
from uuid import UUID

from sqlalchemy import Engine

from .order_store import OrderTerms
from .refit import FeatureCache, refit
from .refit_process import RefitProcess

PATIENCE = 1.5  # s that a caller waits who would rather have an older order than wait longer

log = logging.getLogger(__name__)


class OrderRefits:
    """Works orders out for a client.

    `beside`: never in this process, whose event loop would stand still meanwhile. Otherwise what a caller waits for is
    done in the caller's thread, and the rest beside.
    """

    def __init__(self, engine: Engine, database_url: str, *, beside: bool) -> None:
        self._engine = engine
        self._beside = beside
        self._process = RefitProcess(database_url)
        self._cache = FeatureCache()

    def finished(self, batch_id: UUID, terms: OrderTerms, *, patient: bool) -> bool:
        """Return True once the order is up to date; False where that takes longer and the caller is not `patient`.

        Raises what `refit` raises, and `OperationFailed` where the process beside has died.
        """
        if not self._beside:
            refit(self._engine, batch_id, terms, self._cache)
            return True
        try:
            self._process.ask(batch_id, terms).result(None if patient else PATIENCE)
        except TimeoutError:
            return False
        return True

    def begin(self, batch_id: UUID, terms: OrderTerms) -> None:
        """Have the order brought up to date beside; where that fails, a log line says so."""
        self._process.ask(batch_id, terms).add_done_callback(lambda done: _tell(batch_id, done))

    def cold(self, batch_id: UUID, terms: OrderTerms) -> None:
        """Keep the order before any decision, where none of these terms is kept; raises as `refit`."""
        refit(self._engine, batch_id, terms, self._cache, cold=True)

    def wait(self) -> None:
        """Return once nothing is worked out beside any more."""
        self._process.wait()

    def close(self) -> None:
        """Give up what is worked out beside."""
        self._process.close()


def _tell(batch_id: UUID, done: "Future[None]") -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.warning("the reading order of batch %s stays as it is: %s", batch_id, error)
