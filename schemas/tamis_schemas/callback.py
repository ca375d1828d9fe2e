"""Whom to tell what becomes of a batch."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

LONGEST_URL = 2_000  # characters


class BatchEvent(StrEnum):
    """What somebody may want to be told."""

    COMPLETED = "batch.completed"  # or cancelled, and its last call has ended: nothing more happens
    PAUSED = "batch.paused"  # by itself: it cannot go on before somebody puts the reason right
    FAILING = "batch.failing"  # more of its items failed than `failed_share`; told once a round


class Callback(BaseModel):
    """A URL that is sent a signed webhook for each event."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field(max_length=LONGEST_URL, description="https, or http where the workers are set to allow it.")
    events: tuple[BatchEvent, ...] = Field(default=tuple(BatchEvent), min_length=1)
    failed_share: float = Field(
        default=0.1, ge=0, le=1, description="Of the items that ended: above it the batch counts as failing."
    )
