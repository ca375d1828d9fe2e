"""A batch as its submitter holds it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING
from uuid import UUID

from tamis_schemas import Counts, ItemResult, Summary, WaitTimeout

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
        """The counts, once the batch is completed or cancelled.

        Args:
            timeout: seconds to wait at most; None waits as long as it takes.

        Raises:
            WaitTimeout: it took longer; the batch goes on.
            LedgerUnavailable: the ledger does not answer.
        """
        for view in self.watch(timeout):
            if view.state.terminal:
                return view.counts
        raise AssertionError("watch ends with a terminal state or raises")

    def watch(self, timeout: float | None = None) -> Iterator[BatchView]:
        """How the batch stands, again and again (at first quickly, then every second), until it is terminal.

        Raises as `wait` does.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = FIRST_POLL
        while True:
            view = self.status()
            yield view
            if view.state.terminal:
                return
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                done = view.counts.finished
                raise WaitTimeout(f"batch {self.id}: {done} of {view.counts.n_items} items done after {timeout:g} s")
            time.sleep(pause if left is None else min(pause, left))
            pause = min(SLOWEST_POLL, pause * 1.5)

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
