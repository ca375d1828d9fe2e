"""The state of a batch, as the gateway shows it."""

from typing import Self

from tamis_schemas import BatchStatus, Counts, Pause, cost_words
from tamis_schemas.values.frozen import Frozen

from ..ledger.batch_view import BatchView


class BatchStatusView(Frozen):
    """The state of a batch at one moment, with values derived from it."""

    batch: BatchView
    finished: bool  # nothing more will happen without a request
    waits_for: str | None  # reason why the batch is stopped or slow
    rate: float | None  # items per second
    eta_seconds: float | None
    paid: str  # its cost up to now, in words

    @classmethod
    def of(cls, view: BatchView) -> Self:
        """Return the gateway's view of a batch's state."""
        return cls(
            batch=view,
            finished=view.finished,
            waits_for=view.waits_for,
            rate=view.rate,
            eta_seconds=view.eta_seconds,
            paid=cost_words(view.cost, view.unpriced),
        )

    @property
    def seen(self) -> tuple[str, BatchStatus, int, Counts, Pause | None, str | None]:
        """The fields whose change causes an event. Rate, cost and time are sent with an event, but cause no event."""
        view = self.batch
        return view.id, view.state, view.round, view.counts, view.pause, self.waits_for
