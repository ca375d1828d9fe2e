"""A batch as an asynchronous submitter holds it."""

from collections.abc import AsyncIterator, Collection
from typing import TYPE_CHECKING, Generic
from uuid import UUID

from tamis_schemas import ItemResult
from tamis_schemas.values.checked_generic import V_co

from .batch import Batch
from .client import Client
from .loop_client import Bridge
from .mirroring import Mirror, awaited, iterated, on_thread


class AsyncBatch(Mirror, Generic[V_co]):
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
    wait = awaited(Batch.wait)
    watch = iterated(Batch.watch)
    pause = awaited(Batch.pause)
    resume = awaited(Batch.resume)
    cancel = awaited(Batch.cancel)
    set_priority = awaited(Batch.set_priority)
    retry = awaited(Batch.retry)
    if TYPE_CHECKING:  # what is mirrored does not know the type of a batch's values

        def results(self, places: Collection[int] | None = None) -> AsyncIterator[ItemResult[V_co]]:
            """Yield what `Batch.results` does."""
    else:
        results = iterated(Batch.results)
    item_ids = on_thread(Batch.item_ids)
    summary = awaited(Batch.summary)
    summaries = awaited(Batch.summaries)

    def __repr__(self) -> str:
        return f"AsyncBatch({self.id!r})"

    def _blocking(self, client: Client) -> Batch:
        return Batch(client, self._id)


def async_batch(bridge: Bridge, batch: Batch[V_co]) -> AsyncBatch[V_co]:
    """The same batch, its methods awaited."""
    return AsyncBatch(bridge, UUID(batch.id))
