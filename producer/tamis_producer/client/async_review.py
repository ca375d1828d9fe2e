"""A review as an asynchronous submitter holds it."""

from uuid import UUID

from .async_batch import AsyncBatch, async_batch
from .batch import Batch
from .client import Client
from .loop_client import Bridge
from .mirroring import Mirror, awaited, awaited_as, iterated
from .review import Review


def _batches(bridge: Bridge, batches: list[Batch]) -> list[AsyncBatch]:
    return [async_batch(bridge, batch) for batch in batches]


class AsyncReview(Mirror):
    """A `Review` whose methods are awaited; `watch` is iterated over with `async for`."""

    def __init__(self, bridge: Bridge, review_id: UUID) -> None:
        self._bridge = bridge
        self._id = review_id

    @property
    def id(self) -> str:
        """The review's id, a UUID as text."""
        return str(self._id)

    status = awaited(Review.status)
    stages = awaited_as(Review.stages, _batches)
    watch = iterated(Review.watch)
    wait = awaited(Review.wait)
    pause = awaited(Review.pause)
    resume = awaited(Review.resume)
    cancel = awaited(Review.cancel)
    set_priority = awaited(Review.set_priority)

    def __repr__(self) -> str:
        return f"AsyncReview({self.id!r})"

    def _blocking(self, client: Client) -> Review:
        return Review(client, self._id)


def async_review(bridge: Bridge, review: Review) -> AsyncReview:
    """The same review, its methods awaited."""
    return AsyncReview(bridge, UUID(review.id))
