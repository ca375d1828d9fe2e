"""Celery's Redis result backend, reduced to what a chord needs.

Celery subscribes to the result of every task it publishes: one round trip an item, and one more when its handle is
forgotten. Nobody waits for results in Redis here; the ledger holds them. What counts a chord's parts stays as it is.
"""

from typing import Any

from celery.backends.redis import RedisBackend


class ChordBackend(RedisBackend):  # type: ignore[misc] # Celery ships no types
    """Counts the parts of chords; follows no results."""

    def add_pending_result(self, result: Any, weak: bool = False, start_drainer: bool = True) -> Any:
        """The result itself, without a subscription."""
        return result

    def remove_pending_result(self, result: Any) -> Any:
        """The result itself: there is no subscription to end."""
        return result

    def on_task_call(self, producer: Any, task_id: str) -> dict[str, Any]:
        """No options, and no subscription."""
        return {}
