"""A batch as its submitter uses it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Generic, TypeVar
from uuid import UUID

from tamis_schemas import (
    BatchPaused,
    Counts,
    ErrorKind,
    ItemResult,
    Operation,
    Priority,
    Summary,
    WaitTimeout,
)
from tamis_schemas.values.checked_generic import V_co

from .. import ledger, runs
from ..ledger.batch_view import BatchView, ReviewView
from ..process.waiting import poll

if TYPE_CHECKING:
    from .session import Session


View = TypeVar("View", BatchView, ReviewView)


class Batch(Generic[V_co]):
    """A handle on a batch in the ledger. Any number of handles may exist for one batch, in any process.

    Type checkers know the type of the results: a `Filter` makes a `Batch[bool]`, so each `value` is a bool.
    """

    def __init__(self, session: Session, batch_id: UUID, *, replayed: bool = False) -> None:
        self.session = session  # session of the client that made this handle
        self.uuid = batch_id
        self.replayed = replayed  # True if the idempotency key had been used before

    @property
    def id(self) -> str:
        """The batch's id, a UUID as text."""
        return str(self.uuid)

    def operation(self) -> Operation:
        """Return the operation that is applied to every item. May raise `LedgerUnavailable`."""
        with self.session.reading() as connection:
            return ledger.read_operation(connection, self.uuid)

    def status(self) -> BatchView:
        """Return the batch's present state. May raise `LedgerUnavailable`."""
        with self.session.reading() as connection:
            return ledger.read_views(connection, batch_id=self.uuid)[0]

    def wait(self, timeout: float | None = None) -> Counts:
        """Wait until the batch is completed or cancelled, without a call in flight. Return the items' counts by state.

        The wait continues while a person has paused the batch, because it can be resumed.

        Args:
            timeout: longest wait in seconds. None: no limit.

        Raises:
            BatchPaused: the batch waits until a person corrects something, such as a wrong key or a budget that is used
                up.
            WaitTimeout: the time is over; the batch continues.
            LedgerUnavailable: the ledger does not answer.
        """
        return deque(self.watch(timeout), maxlen=1).pop().counts

    def watch(self, timeout: float | None = None) -> Iterator[BatchView]:
        """Yield the batch's state every second (at first more often), until the batch and its last call have ended.

        Raises `BatchPaused`, `WaitTimeout` and `LedgerUnavailable`, as `wait` does.
        """
        return watch_to_end(
            self.session,
            self.status,
            timeout,
            stage=lambda view: view,
            late=lambda view: (
                f"batch {self.id}: {view.counts.finished} of {view.counts.n_items} items done after {timeout:g} s; it "
                f"continues: follow it with `tamis status {self.id} --watch`"
            ),
        )

    def pause(self) -> None:
        """Pause the batch: no further item starts, and calls in flight finish.

        Claimed items about which no model has been asked yet become pending within seconds. Raises
        `IllegalTransition` if the batch is completed or cancelled. May raise `LedgerUnavailable`.
        """
        with self.session.writing() as connection:
            runs.pause(connection, self.uuid)

    def resume(self, max_cost: Decimal | None = None) -> None:
        """Resume a paused batch; do nothing if it is running.

        Args:
            max_cost: a new budget in dollars, if the batch has a budget.

        Raises:
            InvalidParameters: `max_cost` is not an amount, or is set for a batch without a budget. Also raised if the
                budget is used up and `max_cost` is not larger.
            NotAllowed: the batch's gateway key does not allow the larger budget, or the batch's model.
            IllegalTransition: the batch is completed or cancelled.
            LedgerUnavailable: the ledger does not answer.
        """
        with self.session.writing() as connection:
            waited = runs.resume(connection, self.uuid, max_cost)
        self.session.dispatch(self.uuid, waited)

    def cancel(self) -> None:
        """Cancel the pending items at once; calls in flight finish, and their results are kept.

        Raises `IllegalTransition` if the batch is completed. May raise `LedgerUnavailable`.
        """
        with self.session.writing() as connection:
            runs.cancel(connection, self.uuid)
        self.session.request_summary(self.uuid)

    def set_priority(self, priority: Priority | str) -> None:
        """Change the batch's priority; all workers follow within seconds.

        Raises `InvalidParameters` for an unknown priority, `IllegalTransition` if the batch is completed or cancelled,
        and `LedgerUnavailable`.
        """
        named = runs.priority_of(priority)
        with self.session.writing() as connection:
            runs.set_priority(connection, self.uuid, named)
        self.session.dispatch(self.uuid)

    def retry(
        self,
        kinds: Collection[ErrorKind | str] | None = None,
        *,
        cancelled: bool = False,
        max_cost: Decimal | None = None,
    ) -> int:
        """Start a new round with the failed items, and return its number of items. Decided items stay unchanged.

        Args:
            kinds: only items that failed with one of these kinds of error. None: all.
            cancelled: also retry the cancelled items.
            max_cost: a new budget in dollars, if the batch has a budget.

        Raises:
            IllegalTransition: the batch is neither completed nor cancelled, or its last calls are still in flight.
            InvalidRequest: the batch has no such item to retry; the message lists the kinds that exist.
            InvalidParameters: a kind is unknown, `max_cost` is not an amount, or the budget is used up.
            NotAllowed: the gateway key that submitted the batch no longer allows the model, or any further cost.
            LedgerUnavailable: the ledger does not answer.
        """
        with self.session.writing() as connection:
            count = runs.retry(connection, self.uuid, kinds, cancelled, max_cost)
        self.session.dispatch(self.uuid)
        return count

    def results(self, places: Collection[int] | None = None) -> Iterator[ItemResult[V_co]]:
        """Yield the items with their results in item order: all items, or only the items at `places`.

        An item that has not ended has no result yet. While the batch runs, later items may show a newer state than
        earlier items. Raises `LedgerUnavailable`, and `Blinded` if a decision is hidden from the client's user.
        """
        self.session.check_whole(self.uuid)
        return ledger.page_results(self.session.engine, self.uuid, places)

    def item_ids(self) -> list[str]:
        """Return the ids of the items, in item order.

        Raises `LedgerUnavailable`, and `Blinded` if hidden decisions of an earlier stage selected these items.
        """
        with self.session.reading() as connection:
            if self.session.sight is not None:
                self.session.sight.check_records(connection, self.uuid)
            return ledger.read_item_ids(connection, self.uuid)

    def summary(self, round: int | None = None) -> Summary | None:  # noqa: A002 - what it is called everywhere
        """Return the summary of a round (by default the latest with a summary), or None before that round is completed.

        The summary and its cost cover the whole batch up to the end of the round. Raises `LedgerUnavailable`, and
        `Blinded` if a decision is hidden from the client's user.
        """
        self.session.check_whole(self.uuid)
        with self.session.reading() as connection:
            return ledger.read_summary(connection, self.uuid, round)

    def summaries(self) -> list[Summary]:
        """Return the summaries of all finished rounds, first round first.

        Raises `LedgerUnavailable`, and `Blinded` if a decision is hidden from the client's user.
        """
        self.session.check_whole(self.uuid)
        with self.session.reading() as connection:
            return ledger.read_summaries(connection, self.uuid)

    def __repr__(self) -> str:
        return f"Batch({self.id!r})"


def watch_to_end(
    session: Session,
    look: Callable[[], View],
    timeout: float | None,
    *,
    stage: Callable[[View], BatchView],
    late: Callable[[View], str],
) -> Iterator[View]:
    """Yield the result of `look` every second (at first more often), until the batch has ended.

    Args:
        session: the client's session, which makes the pauses.
        look: reads the present state.
        timeout: longest wait in seconds. None: no limit.
        stage: returns the batch under way. In a review, this is the batch of the latest stage.
        late: returns the message of `WaitTimeout` for the last state.

    Raises `WaitTimeout`, the errors of `look`, and `BatchPaused` if the batch under way waits until a person corrects
    something.
    """
    for view in poll(look, timeout, session.waiting.sleep):
        yield view
        if view.finished:
            return
        batch = stage(view)
        if batch.stuck is not None:
            raise BatchPaused(batch.id, batch.stuck)
    raise WaitTimeout(late(view))
