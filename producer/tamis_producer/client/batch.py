"""A batch as its submitter holds it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar
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
MaybeNone: TypeAlias = Any  # None before there is one: who has waited need not ask


class Batch(Generic[V_co]):
    """A handle on a batch in the ledger; any number may exist for one batch, in any process.

    A type checker knows what was submitted: a `Filter` makes a `Batch[bool]`, whose rows have a `value` of that type.
    """

    def __init__(self, session: Session, batch_id: UUID, *, replayed: bool = False) -> None:
        self.session = session  # of the client that made it
        self.uuid = batch_id
        self.replayed = replayed  # whether its submission found it: the idempotency key was used before

    @property
    def id(self) -> str:
        """The batch's id, a UUID as text."""
        return str(self.uuid)

    def operation(self) -> Operation:
        """Return the operation that every item is put to. Raises `LedgerUnavailable`."""
        with self.session.reading() as connection:
            return ledger.read_operation(connection, self.uuid)

    def status(self) -> BatchView:
        """Return the batch's present state. Raises `LedgerUnavailable`."""
        with self.session.reading() as connection:
            return ledger.read_views(connection, batch_id=self.uuid)[0]

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
        return deque(self.watch(timeout), maxlen=1).pop().counts

    def watch(self, timeout: float | None = None) -> Iterator[BatchView]:
        """Yield the batch's state again and again (at first quickly, then every second), until `wait` would return.

        Raises as `wait` does.
        """
        return watch_to_end(
            self.session,
            self.status,
            timeout,
            stage=lambda view: view,
            late=lambda view: (
                f"batch {self.id}: {view.counts.finished} of {view.counts.n_items} items done after {timeout:g} s; it "
                f"goes on: `tamis status {self.id} --watch` follows it"
            ),
        )

    def pause(self) -> None:
        """Begin no further item. Calls in flight are finished; what waits is pending again within seconds.

        Raises `IllegalTransition` where the batch is completed or cancelled, and `LedgerUnavailable`.
        """
        with self.session.writing() as connection:
            runs.pause(connection, self.uuid)

    def resume(self, max_cost: Decimal | None = None) -> None:
        """Go on where the batch was paused; a batch that runs goes on as it is.

        Args:
            max_cost: a new budget in dollars, of a batch that has one.

        Raises:
            InvalidParameters: the batch has no budget, or has used it up and gets no larger one; or no amount.
            NotAllowed: the gateway's key that it was submitted with leaves it no larger budget, or not its model.
            IllegalTransition: the batch is completed or cancelled.
            LedgerUnavailable: the ledger does not answer.
        """
        with self.session.writing() as connection:
            runs.resume(connection, self.uuid, max_cost)
        self.session.dispatch(self.uuid)

    def cancel(self) -> None:
        """End the batch: what is pending is cancelled at once, calls in flight are finished and their results kept.

        Raises `IllegalTransition` where the batch is completed, and `LedgerUnavailable`.
        """
        with self.session.writing() as connection:
            runs.cancel(connection, self.uuid)
        self.session.request_summary(self.uuid)

    def set_priority(self, priority: Priority | str) -> None:
        """Go before, or behind, other batches from now on; effective on all workers within seconds.

        Raises `InvalidParameters` for a priority that there is not, `IllegalTransition` where the batch is completed or
        cancelled, and `LedgerUnavailable`.
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
        """Begin a new round with exactly the failed items; how many. What is decided stays as it is.

        Args:
            kinds: only items that failed with one of these kinds of error; None: all.
            cancelled: with the items that were cancelled as well.
            max_cost: a new budget in dollars, of a batch that has one.

        Raises:
            IllegalTransition: the batch is neither completed nor cancelled, or its last calls are still in flight.
            InvalidRequest: there is no such item; the message names what there is.
            InvalidParameters: an unknown kind; or a budget that is none, or used up.
            LedgerUnavailable: the ledger does not answer.
        """
        with self.session.writing() as connection:
            count = runs.retry(connection, self.uuid, kinds, cancelled, max_cost)
        self.session.dispatch(self.uuid)
        return count

    def results(self, places: Collection[int] | None = None) -> Iterator[ItemResult[V_co]]:
        """Every item in item order, or those at some places; an item that is not terminal has no result yet.

        They are read in pages, as the reader comes to them, and nothing is held between two pages: each item is as it
        stands when its page is read, so while a batch runs a later page may be further than an earlier one.

        Raises `LedgerUnavailable`.
        """
        return ledger.page_results(self.session.engine, self.uuid, places)

    def item_ids(self) -> list[str]:
        """The ids of the items, in their order. Raises `LedgerUnavailable`."""
        with self.session.reading() as connection:
            return ledger.read_item_ids(connection, self.uuid)

    def summary(self, round: int | None = None) -> Summary | MaybeNone:  # noqa: A002 - what it is called everywhere
        """The summary of a round, or of the latest finished one; None before there is one. Raises `LedgerUnavailable`.

        A summary counts the whole batch as it stood when its round ended; its bill is that of all rounds so far.
        """
        with self.session.reading() as connection:
            return ledger.read_summary(connection, self.uuid, round)

    def summaries(self) -> list[Summary]:
        """The summaries of all finished rounds, the first one first. Raises `LedgerUnavailable`."""
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
    """Yield what `look` sees again and again (at first quickly, then every second), until nothing more happens.

    Args:
        session: whose way of waiting is used.
        look: the present state.
        timeout: seconds to wait at most; None waits as long as it takes.
        stage: the batch of a view that may keep it from going on.
        late: the message of `WaitTimeout`.

    Raises `BatchPaused`, `WaitTimeout`, and what `look` raises.
    """
    for view in poll(look, timeout, session.waiting.sleep):
        yield view
        if view.finished:
            return
        batch = stage(view)
        if batch.stuck is not None:
            raise BatchPaused(batch.id, batch.stuck)
    raise WaitTimeout(late(view))
