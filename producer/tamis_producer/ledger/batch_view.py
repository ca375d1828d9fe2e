"""The state of a batch, or of a review, at one moment."""

from datetime import datetime
from decimal import Decimal

from pydantic import computed_field

from tamis_schemas import (
    BatchStatus,
    Cost,
    Counts,
    Pause,
    PossiblyUnbilled,
    Priority,
    SteeringView,
    cost_words,
)
from tamis_schemas.values.frozen import Frozen

from .worker_view import NotWorking, why_waiting


class Budget(Frozen):
    """The budget of a batch, and the part that is spent or reserved."""

    max_cost: Cost
    spent: Cost  # for answered calls, also of items without a result yet
    reserved: Cost  # for calls in flight, and for calls with an unknown end


class BatchView(PossiblyUnbilled):
    """The state of a batch at one moment. Its counts add up to the number of items."""

    id: str
    label: str | None
    submitted_by: str | None = None  # label of the gateway's key; None: a program, or a person at a terminal
    operation: str
    model: str | None  # None: the worker's model
    steering: SteeringView | None = None  # None: as the workers are set
    state: BatchStatus
    round: int
    counts: Counts
    prompt_tokens: int
    completion_tokens: int
    cost: Cost = Decimal(0)  # dollars, as far as prices are known
    unpriced: int = 0  # items without a known price
    budget: Budget | None = None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    elapsed_seconds: float | None  # since the round's first dispatch, by the database's clock
    live_workers: int  # number in the whole installation
    not_working: tuple[NotWorking, ...] = ()  # live workers that start nothing at the moment
    review_id: str | None = None  # None: the batch belongs to no review
    stage: int | None = None  # place in its review, from 0
    pause: Pause | None = None  # None: it is not paused
    priority: Priority = Priority.NORMAL
    ended_in_round: int | None = None  # items with a result of the present round; None: not counted
    pace: float | None = None  # items that ended, a second, in the last minutes of work; None: unknown

    @property
    def finished(self) -> bool:
        """True if nothing more will happen without a request: the batch has ended, and so has its last call."""
        return self.state.terminal and not (self.counts.pending or self.counts.running)

    @property
    def lacks_decisions(self) -> bool:
        """True if the batch is completed and some of its items failed."""
        return self.state is BatchStatus.COMPLETED and self.counts.failed > 0

    @property
    def stuck(self) -> Pause | None:
        """The pause, if people must correct its cause and the batch's last call has ended; else None."""
        return self.pause if self.pause is not None and self.pause.needs_people and not self.counts.running else None

    @property
    def waits_for(self) -> str | None:
        """The reason, in one line, why a running batch waits or is slow; None if there is no such reason."""
        if self.state.terminal or self.pause is not None:
            return None
        return why_waiting(self.live_workers, self.not_working)

    @property
    def rate(self) -> float | None:
        """Items per second in the last minutes of work; None if unknown, or if the batch is paused or has ended."""
        return None if self.state.terminal or self.pause is not None else self.pace

    @property
    def eta_seconds(self) -> float | None:
        """Seconds left at the present rate; None if unknown, or while the batch is paused."""
        if not self.rate:
            return None
        return (self.counts.pending + self.counts.running) / self.rate


class ServiceTraffic(Frozen):
    """The single calls of one service in one hour. Each call is an item; its batch can be read by the batch's id."""

    service: str
    hour: datetime  # beginning of the hour, by the database's clock
    calls: int
    failed: int
    open: int  # calls that have not ended yet
    cost: Cost  # dollars, as far as prices are known
    unpriced: int  # calls without a known price

    @computed_field  # type: ignore[prop-decorator] # as pydantic has it
    @property
    def paid(self) -> str:
        """The cost up to now, in words."""
        return cost_words(self.cost, self.unpriced)


class ReviewView(Frozen):
    """The state of a review at one moment: its stages so far, in order."""

    id: str
    label: str
    created_at: datetime
    finished_at: datetime | None
    planned: tuple[str, ...]  # the operations of all stages
    stages: tuple[BatchView, ...]  # stages that have begun

    @property
    def cost(self) -> Decimal:
        """The cost of all stages so far in dollars, as far as prices are known."""
        return sum((stage.cost for stage in self.stages), Decimal(0))

    @property
    def unpriced(self) -> int:
        """The number of items without a known price, in all stages."""
        return sum(stage.unpriced for stage in self.stages)

    @property
    def finished(self) -> bool:
        """True if nothing more will happen without a request.

        Either the review is completed, or its latest stage was cancelled and has ended.
        """
        cancelled = self.stages[-1].state is BatchStatus.CANCELLED and self.stages[-1].finished
        return self.finished_at is not None or cancelled

    @property
    def state(self) -> str:
        """The state: running, paused, cancelled or completed."""
        if self.finished_at is not None:
            return BatchStatus.COMPLETED.value
        latest = self.stages[-1].state
        return BatchStatus.RUNNING.value if latest is BatchStatus.COMPLETED else latest.value
