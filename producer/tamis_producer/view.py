"""How a batch stands at one moment."""

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
