"""A batch as its submitter holds it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

from tamis_schemas import BatchPaused, Counts, ItemResult, Summary, WaitTimeout

from . import control
from .ledger import ledger_errors, read_summary, read_views, stream_results
from .view import BatchView

if TYPE_CHECKING:
    from .client import Client

FIRST_POLL = 0.05  # s
SLOWEST_POLL = 1.0  # s


class Batch:
    """A handle on a batch in the ledger; any number may exist for one batch, in any process."""

    def __init__(self, client: Client, batch_id: UUID) -> None:
        self._client = client
        self._id = batch_id

    @property
    def id(self) -> str:
        """The batch's id, a UUID as text."""
        return str(self._id)

    def status(self) -> BatchView:
        """How the batch stands now. Raises `LedgerUnavailable`."""
        with ledger_errors(), self._client.engine.connect() as connection:
            return read_views(connection, batch_id=self._id)[0]

    def wait(self, timeout: float | None = None) -> Counts:
        """The counts, once the batch is completed, or cancelled and its last call has ended.

        A batch that somebody paused is waited for: somebody will resume it.

        Args:
            timeout: seconds to wait at most; None waits as long as it takes.

        Raises:
            BatchPaused: it cannot go on before somebody puts the reason right: a wrong key, a budget that is used up.
            WaitTimeout: it took longer; the batch goes on.
            LedgerUnavailable: the ledger does not answer.
        """
        for view in self.watch(timeout):
            if view.finished:
                return view.counts
        raise AssertionError("watch ends with a finished batch or raises")

    def watch(self, timeout: float | None = None) -> Iterator[BatchView]:
        """How the batch stands, again and again (at first quickly, then every second), until `wait` would return.

        Raises as `wait` does.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = FIRST_POLL
        while True:
            view = self.status()
            yield view
            if view.finished:
                return
            if view.stuck is not None:
                raise BatchPaused(self.id, view.stuck)
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                done = view.counts.finished
                raise WaitTimeout(f"batch {self.id}: {done} of {view.counts.n_items} items done after {timeout:g} s")
            time.sleep(pause if left is None else min(pause, left))
            pause = min(SLOWEST_POLL, pause * 1.5)

    def pause(self) -> None:
        """Begin no further item. Calls in flight are finished; what waits is pending again within seconds.

        Raises `IllegalTransition` where the batch is completed or cancelled, and `LedgerUnavailable`.
        """
        control.pause(self._client.engine, self._id)

    def resume(self, max_cost: Decimal | None = None) -> None:
        """Go on where the batch was paused; a batch that runs goes on as it is.

        Args:
            max_cost: a new budget in dollars, of a batch that has one.

        Raises:
            InvalidParameters: the batch has no budget, or has used it up and gets no larger one; or no amount.
            IllegalTransition: the batch is completed or cancelled.
            LedgerUnavailable: the ledger does not answer.
        """
        control.resume(self._client.engine, self._id, max_cost)
        self._client.dispatch(self._id)

    def cancel(self) -> None:
        """End the batch: what is pending is cancelled at once, calls in flight are finished and their results kept.

        Raises `IllegalTransition` where the batch is completed, and `LedgerUnavailable`.
        """
        control.cancel(self._client.engine, self._id)
        self._client.conclude(self._id)

    def results(self) -> Iterator[ItemResult]:
        """Every item in item order, streamed; an item that is not terminal yet has no result.

        Raises `LedgerUnavailable`.
        """
        with ledger_errors(), self._client.engine.connect() as connection:
            yield from stream_results(connection, self._id)

    def summary(self) -> Summary | None:
        """The summary of the latest finished round; None before there is one. Raises `LedgerUnavailable`."""
        with ledger_errors(), self._client.engine.connect() as connection:
            return read_summary(connection, self._id)

    def __repr__(self) -> str:
        return f"Batch({self.id!r})"
