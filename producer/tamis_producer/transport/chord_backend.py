"""Celery's Redis result backend, reduced to the counts of a chord.

Celery would keep the result of every part of a chord for the chord's body. Here the body reads the ledger instead, so
only the counting remains.

| key | content |
|---|---|
| `<prefix><group>.s` | number of parts (Celery's own) |
| `<prefix><group>.d` | set of the places of the finished parts |
| `<prefix><group>.f` | the body is published |
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from celery import maybe_signature
from celery.backends.redis import RedisBackend

from ..config.redis_clients import connect

LIMITS = ("max_connections", "socket_timeout", "socket_connect_timeout", "health_check_interval")  # of connections
# Returns whether this call completed the chord. A part that finishes twice counts once.
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
    """A result backend that counts the parts of chords and keeps no results."""

    def __init__(self, *args: Any, url: str, **options: Any) -> None:
        """Store `url`, which has no password, for Celery's tools."""
        super().__init__(*args, **options)
        self.url = url

    @cached_property
    def client(self) -> Any:
        # Celery knows no URL that names a service of Sentinels.
        return connect(self.app.conf.secret_result_url, **{name: self.connparams[name] for name in LIMITS})

    def as_uri(self, include_password: bool = False) -> str:
        """Return the URL, without its password."""
        return str(self.url)

    def parts_returned(self, group_id: str, places: Sequence[int], body: dict[str, Any]) -> None:
        """Count the parts at these places in a chord as done. After the last part, publish the chord's body.

        If the process is killed between count and publication, the body is never published. The caller must detect this
        case in another way. Raises the Redis client's errors.
        """
        if self.completed_by(group_id, places):
            maybe_signature(body, app=self.app).apply_async()

    def completed_by(self, group_id: str, places: Sequence[int]) -> bool:
        """Count the parts at these places in a chord as done, and return whether this call completed the chord."""
        return bool(self._count(keys=self.keys_of(group_id), args=[self.app.conf.result_chord_expires, *places]))

    def keys_of(self, group_id: str) -> list[str]:
        """Return a chord's Redis keys: the number of parts, the finished parts, and the mark of a published body."""
        return [self.get_key_for_group(group_id, suffix) for suffix in (".s", ".d", ".f")]

    @cached_property
    def _count(self) -> Any:
        return self.client.register_script(COUNT)

    def on_task_call(self, producer: Any, task_id: str) -> None:
        """Do nothing. Celery would subscribe to the task's result here, but no process reads it."""

    def remove_pending_result(self, result: Any) -> Any:
        """Return the result. Celery calls this to end a subscription, but there is none."""
        return result
