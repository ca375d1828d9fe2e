"""The order in which a worker takes from its queues: by turns, more turns for higher priorities, aggregates first."""

from collections.abc import Iterable

from tamis_schemas import Priority
from tamis_schemas.batches import wire

AGGREGATES_FIRST = 1000  # turns, to one of the lowest priority


class WeightedOrder:
    """Start-time fair queueing over queue names, as kombu's `queue_order_strategy`.

    Each queue has a time of its own, which a message taken from it moves on by 1/weight; the queue with the earliest
    time goes first. A queue that was empty for a while does not catch up: it starts at the time of the last one served.
    (Goyal, Vin, Cheng: Start-time Fair Queuing, SIGCOMM 1996.)
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._times: dict[str, float] = {}
        self._now = 0.0
        self.update(names)

    def update(self, names: Iterable[str]) -> None:
        """Serve these queues from now on."""
        self._times = {name: self._times.get(name, self._now) for name in names}

    def consume(self, n: int) -> list[str]:
        """The first `n` queues, in the order in which they are to be asked."""
        # Rounded: a sum of sixteenths and quarters must not lose its ties. Ties: in the order of their names.
        return sorted(self._times, key=lambda name: (round(max(self._times[name], self._now), 6), name))[:n]

    def rotate(self, last_used: str) -> str:
        """Move on the time of a queue that a message was taken from; return its name."""
        if last_used in self._times:
            self._now = max(self._times[last_used], self._now)
            self._times[last_used] = self._now + 1 / weight(last_used)
        return last_used


def weight(queue: str) -> int:
    """The turns of a queue, relative to the others'."""
    if queue == wire.CONTROL_QUEUE:
        return AGGREGATES_FIRST
    item_queue = wire.ITEM_QUEUES.get(queue)
    return (item_queue.priority if item_queue else Priority.NORMAL).weight
