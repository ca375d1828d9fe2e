"""How a batch stands, as the gateway tells it."""

from typing import Self

from pydantic import BaseModel, ConfigDict

from ..view import BatchView


class Standing(BaseModel):
    """One consistent read of a batch, with what follows from it."""

    model_config = ConfigDict(frozen=True)

    batch: BatchView
    finished: bool  # nothing more happens unless somebody asks for it
    waits_for: str | None  # why nothing, or less than usual, goes on
    rate: float | None  # items per second
    eta_seconds: float | None

    @classmethod
    def of(cls, view: BatchView) -> Self:
        """The standing of one read."""
        return cls(
            batch=view,
            finished=view.finished,
            waits_for=view.waits_for,
            rate=view.rate,
            eta_seconds=view.eta_seconds,
        )
