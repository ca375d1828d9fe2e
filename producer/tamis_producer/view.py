"""How a batch, or a review, stands at one moment."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from tamis_schemas import BatchStatus, Counts


class BatchView(BaseModel):
    """One consistent read of a batch: the accounting identity holds in it."""

    model_config = ConfigDict(frozen=True)

    id: str
    label: str | None
    operation: str
    model: str | None  # None: the worker's own
    state: BatchStatus
    round: int
    counts: Counts
    prompt_tokens: int
    completion_tokens: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    elapsed_seconds: float | None  # since the round's first dispatch, by the database's clock
    live_workers: int  # of the whole installation
    stage: int | None = None  # place in its review, from 0

    @property
    def rate(self) -> float | None:
        """Items per second since the round began; None before it has."""
        if not self.elapsed_seconds:
            return None
        return (self.counts.decided + self.counts.failed) / self.elapsed_seconds

    @property
    def eta_seconds(self) -> float | None:
        """Seconds to go at the present rate; None where nothing can be said yet."""
        if not self.rate:
            return None
        return (self.counts.pending + self.counts.running) / self.rate


class ReviewView(BaseModel):
    """One read of a review: its stages so far, in order."""

    model_config = ConfigDict(frozen=True)

    id: str
    label: str
    created_at: datetime
    finished_at: datetime | None
    planned: tuple[str, ...]  # the operations of all stages
    stages: tuple[BatchView, ...]  # those that have begun

    @property
    def finished(self) -> bool:
        """True where nothing more will happen unless somebody asks for it: finished, or cancelled in a stage."""
        return self.finished_at is not None or self.stages[-1].state is BatchStatus.CANCELLED

    @property
    def state(self) -> str:
        """running, paused, cancelled or completed."""
        if self.finished_at is not None:
            return BatchStatus.COMPLETED.value
        latest = self.stages[-1].state
        return BatchStatus.RUNNING.value if latest is BatchStatus.COMPLETED else latest.value
