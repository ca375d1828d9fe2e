"""Revocations: which items here are to end as cancelled, because somebody revoked their tasks in Celery's tools.

An id is all that Celery's tools know. Of an item that is here it is known whose it is; of one whose message still waits
in a queue nobody knows, so the id is remembered, as Celery itself does, and found again when the message comes.
"""

from collections.abc import Callable, Collection
from functools import partial

from celery.worker import state

from ..event_loop.loop import LoopThread
from ..ledger.claims import ItemKey
from .delivery import Delivery


class Revocations:
    """The items of one worker process, by the ids of their tasks."""

    def __init__(
        self, loop: LoopThread, cancel: Callable[[ItemKey, bool], None], forget: Callable[[ItemKey], None]
    ) -> None:
        """`cancel` has an item end as cancelled, and its call in flight be cut off where True; both on the loop."""
        self._loop = loop
        self._cancel = cancel
        self._forget = forget
        self._open: set[Delivery] = set()  # taken and not at their end; changed on the loop only

    def taken(self, delivery: Delivery) -> None:
        """Note a message that came; on the consumer's thread."""
        state.requests[delivery.id] = delivery

    def settled(self, delivery: Delivery) -> None:
        """Forget a message that is settled; on the consumer's thread."""
        if state.requests.get(delivery.id) is delivery:  # it may have been delivered again meanwhile
            del state.requests[delivery.id]

    def deliveries(self) -> list[Delivery]:
        """Return what is here and not settled; on the consumer's thread."""
        return [request for request in state.requests.values() if isinstance(request, Delivery)]

    def revoke(self, deliveries: Collection[Delivery], *, cut: bool) -> list[Delivery]:
        """Cancel the items; return those that were not at their end already. On the consumer's thread."""
        going_on = [delivery for delivery in deliveries if delivery in self._open]
        for delivery in deliveries:  # one that the loop has not seen yet is taken before this is heard
            self._loop.call_soon(partial(self._revoked, delivery, cut))
        return going_on

    def begins(self, delivery: Delivery) -> None:
        """Note that an item begins to be evaluated; on the loop."""
        self._open.add(delivery)
        if delivery.id in state.revoked:
            self._cancel(delivery.key, False)

    def ended(self, delivery: Delivery) -> None:
        """Note that nothing more happens to an item; on the loop."""
        self._open.discard(delivery)
        self._forget(delivery.key)

    def _revoked(self, delivery: Delivery, cut: bool) -> None:
        if delivery in self._open:
            self._cancel(delivery.key, cut)
