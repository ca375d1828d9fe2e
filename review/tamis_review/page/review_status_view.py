"""The state of a review, as the gateway shows it: its stages, what is left in each, and what comes next."""

from collections.abc import Sequence
from datetime import datetime
from typing import Self

from tamis_producer.gateway.batch_status_view import BatchStatusView
from tamis_producer.ledger.batch_view import ReviewView
from tamis_schemas import BatchStatus, cost_words
from tamis_schemas.values.frozen import Frozen

from ..report.work_left import WorkLeft


class ReviewStageView(BatchStatusView):
    """A stage of a review, which is a batch, and what is left in it for whoever asks."""

    name: str  # in the review's plan
    todo: int  # records that wait for the key's holder
    conflicts: int  # records on which people differ, and nobody has settled it


class ReviewStatusView(Frozen):
    """One consistent read of a review, with what follows from it."""

    id: str
    label: str
    created_at: datetime
    finished_at: datetime | None
    state: str  # running, paused, cancelled or completed
    planned: tuple[str, ...]  # the names of all stages
    stages: tuple[ReviewStageView, ...]  # those that have begun, in order
    paid: str  # what its stages have cost up to now, in words
    next_step: str  # in a few words, for the key's holder

    @classmethod
    def of(cls, view: ReviewView, left: Sequence[WorkLeft]) -> Self:
        """Return the view of one read, and what is left in each of its stages."""
        stages = tuple(
            ReviewStageView(**dict(BatchStatusView.of(stage)), name=name, todo=here.todo, conflicts=here.conflicts)
            for stage, name, here in zip(view.stages, view.planned, left, strict=False)
        )
        return cls(
            id=view.id,
            label=view.label,
            created_at=view.created_at,
            finished_at=view.finished_at,
            state=view.state,
            planned=view.planned,
            stages=stages,
            paid=cost_words(view.cost, view.unpriced),
            next_step=next_step(view.state, left),
        )


def next_step(state: str, left: Sequence[WorkLeft]) -> str:
    """Return what comes next in a review of this state: what people have to do goes before what the software does."""
    conflicts, todo = sum(one.conflicts for one in left), sum(one.todo for one in left)
    if conflicts:
        return f"{conflicts:,} {'conflict' if conflicts == 1 else 'conflicts'} to settle"
    if state == BatchStatus.PAUSED:
        return "paused"
    if state in (BatchStatus.PENDING, BatchStatus.RUNNING):
        return "runs"
    if todo:
        return f"{todo:,} {'record' if todo == 1 else 'records'} to read"
    if any(one.audit_due for one in left):
        return "an audit to draw"
    return "cancelled" if state == BatchStatus.CANCELLED else "finished"
