"""A batch as an asynchronous submitter holds it."""

from collections.abc import AsyncIterator, Collection
from typing import TYPE_CHECKING, Generic
from uuid import UUID

from tamis_schemas import ItemResult
from tamis_schemas.values.checked_generic import V_co

from .batch import Batch
from .client import Client
from .loop_client import Bridge
from .mirroring import awaited, iterated, on_thread


class AsyncBatch(Generic[V_co]):
    """A `Batch` whose methods are awaited; `results` and `watch` are iterated over with `async for`.

    Arguments, results and errors are those of `Batch`. A call that is cancelled leaves the batch as it is.
    """

    def __init__(self, bridge: Bridge, batch_id: UUID) -> None:
        self._bridge = bridge
        self._id = batch_id

    @property
    def id(self) -> str:
        """The batch's id, a UUID as text."""
        return str(self._id)

    operation = awaited(Batch.operation)
    status = awaited(Batch.status)
    api_key_id = awaited(Batch.api_key_id)
    wait = awaited(Batch.wait)
    watch = iterated(Batch.watch)
    pause = awaited(Batch.pause)
    resume = awaited(Batch.resume)
    cancel = awaited(Batch.cancel)
    set_priority = awaited(Batch.set_priority)
    retry = awaited(Batch.retry)
    later_stage = awaited(Batch.later_stage)
    if TYPE_CHECKING:  # what is mirrored does not know the type of a batch's values

        def results(self, places: Collection[int] | None = None) -> AsyncIterator[ItemResult[V_co]]:
            """Yield what `Batch.results` does."""
    else:
        results = iterated(Batch.results)
    to_judge = iterated(Batch.to_judge)
    frame = on_thread(Batch.frame)
    explain = awaited(Batch.explain)
    item_ids = on_thread(Batch.item_ids)
    summary = awaited(Batch.summary)
    summaries = awaited(Batch.summaries)
    failures = on_thread(Batch.failures)
    override = awaited(Batch.override)
    withdraw_override = awaited(Batch.withdraw_override)
    decide = awaited(Batch.decide)
    import_decisions = on_thread(Batch.import_decisions)
    overrides = awaited(Batch.overrides)
    remark = awaited(Batch.remark)
    labels = awaited(Batch.labels)
    labelled = awaited(Batch.labelled)
    human_counts = awaited(Batch.human_counts)
    screening_mode = awaited(Batch.screening_mode)
    set_screening_mode = awaited(Batch.set_screening_mode)
    conflicts = awaited(Batch.conflicts)
    draw_audit = on_thread(Batch.draw_audit)
    draw_pilot = on_thread(Batch.draw_pilot)
    next = on_thread(Batch.next)
    audits = awaited(Batch.audits)
    stop = on_thread(Batch.stop)
    stop_sample = on_thread(Batch.stop_sample)
    close_stop_sample = on_thread(Batch.close_stop_sample)
    agreement = on_thread(Batch.agreement)
    evaluate = on_thread(Batch.evaluate)
    panel = on_thread(Batch.panel)
    calibrate = on_thread(Batch.calibrate)
    report = on_thread(Batch.report)

    def __repr__(self) -> str:
        return f"AsyncBatch({self.id!r})"

    def _blocking(self, client: Client) -> Batch:
        return Batch(client, self._id)


def async_batch(bridge: Bridge, batch: Batch[V_co]) -> AsyncBatch[V_co]:
    """The same batch, its methods awaited."""
    return AsyncBatch(bridge, UUID(batch.id))
