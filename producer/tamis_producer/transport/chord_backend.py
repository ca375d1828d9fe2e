"""Celery's Redis result backend, reduced to what a chord needs.

Celery keeps the result of every part of a chord for its body. Nobody waits for results in Redis here, and the body
takes its numbers from the ledger. What is left is to count.

| key | what |
|---|---|
| `<prefix><group>.s` | how many parts there are (Celery's own) |
| `<prefix><group>.d` | set of the places of the parts that came back |
| `<prefix><group>.f` | the body is published |
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from celery import maybe_signature
from celery.backends.redis import RedisBackend

# Whether this call saw the last part come back. A part that comes twice counts once.
COUNT = """
redis.call('SADD', KEYS[2], unpack(ARGV, 2))
redis.call('EXPIRE', KEYS[2], ARGV[1])
local size = tonumber(redis.call('GET', KEYS[1]) or 'inf')
if redis.call('SCARD', KEYS[2]) < size then
  return 0
end
return redis.call('SET', KEYS[3], '1', 'NX', 'EX', ARGV[1]) and 1 or 0
"""


class ChordBackend(RedisBackend):  # type: ignore[misc] # Celery ships no types
    """Counts the parts of chords; follows no results."""

    def parts_returned(self, group_id: str, places: Sequence[int], body: dict[str, Any]) -> None:
        """Count parts of a chord as done, by their places in it; with the last one the body is published.

        A process killed between the count and the publication leaves the body unpublished: who needs the body to run
        must be able to find that out elsewhere. Raises what the Redis client raises.
        """
        keys = [self.get_key_for_group(group_id, suffix) for suffix in (".s", ".d", ".f")]
        if self._count(keys=keys, args=[self.app.conf.result_chord_expires, *places]):
            maybe_signature(body, app=self.app).apply_async()

    @cached_property
    def _count(self) -> Any:
        return self.client.register_script(COUNT)

    def on_task_call(self, producer: Any, task_id: str) -> None:
        """Subscribe to nothing: what is sent on in a service's name is the service's to wait for."""

    def remove_pending_result(self, result: Any) -> Any:
        """Return the result: there is no subscription to end, which Celery would look for at the end of each result."""
        return result
