"""A review as its submitter holds it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

from tamis_schemas import BatchPaused, IllegalTransition, Priority, WaitTimeout

from .. import ledger, runs
from ..ledger.batch_view import ReviewView
from ..process.waiting import poll
from .batch import Batch

if TYPE_CHECKING:
    from .session import Session


class Review:
    """A handle on a review in the ledger; any number may exist for one review, in any process."""

    def __init__(self, session: Session, review_id: UUID, *, replayed: bool = False) -> None:
        self.session = session  # of the client that made it
        self.uuid = review_id
        self.replayed = replayed  # whether its submission found it: plan and records were submitted before

    @property
    def id(self) -> str:
        """The review's id, a UUID as text."""
        return str(self.uuid)

    def status(self) -> ReviewView:
        """Return the review's present state, all of its stages in one snapshot. Raises `LedgerUnavailable`."""
        with self.session.snapshot() as connection:
            return ledger.read_reviews(connection, review_id=self.uuid)[0]

    def stages(self) -> list[Batch]:
        """The batches of the stages that have begun, in order. Raises `LedgerUnavailable`."""
        return [Batch(self.session, UUID(view.id)) for view in self.status().stages]

    def watch(self, timeout: float | None = None) -> Iterator[ReviewView]:
        """Yield the review's state again and again (at first quickly, then every second), until nothing more happens.

        Raises:
            BatchPaused: its stage cannot go on before somebody puts the reason right.
            WaitTimeout: it took longer than `timeout` seconds; the review goes on.
            LedgerUnavailable: the ledger does not answer.
        """
        for view in poll(self.status, timeout, self.session.waiting.sleep):
            yield view
            if view.finished:
                return
            if view.stages[-1].stuck is not None:
                raise BatchPaused(view.stages[-1].id, view.stages[-1].stuck)
        raise WaitTimeout(
            f"review {self.id}: in stage {len(view.stages)} of {len(view.planned)} after {timeout:g} s; it goes on: "
            f"`tamis review status {self.id} --watch` follows it"
        )

    def wait(self, timeout: float | None = None) -> ReviewView:
        """The last view, once nothing more happens. Raises as `watch` does."""
        return deque(self.watch(timeout), maxlen=1).pop()

    def pause(self) -> None:
        """Pause the stage that the review is in. Raises as `Batch.pause`."""
        self._in_stage("pause", Batch.pause)

    def resume(self, max_cost: Decimal | None = None) -> None:
        """Go on with the stage that was paused. Arguments and errors are those of `Batch.resume`."""
        self._in_stage("resume", lambda batch: batch.resume(max_cost))

    def cancel(self) -> None:
        """Cancel the stage that the review is in; no other one follows. Raises as `Batch.cancel`."""
        self._in_stage("cancel", Batch.cancel)

    def set_priority(self, priority: Priority | str) -> None:
        """Go before, or behind, other batches, in this stage and those after it. Raises as `Batch.set_priority`."""
        self._in_stage("prioritise", lambda batch: batch.set_priority(priority))

    def _in_stage(self, verb: str, act: Callable[[Batch], None]) -> None:
        while True:
            stage = self._stage(verb)
            try:
                act(Batch(self.session, stage))
                return
            except IllegalTransition:
                if self._stage(verb) == stage:
                    raise  # else it was completed just now, and the review is in its next stage

    def _stage(self, verb: str) -> UUID:
        with self.session.writing() as connection:
            stage = runs.current_stage(connection, self.uuid)
        if stage is None:
            raise runs.nothing_left(self.uuid, verb)
        return stage
