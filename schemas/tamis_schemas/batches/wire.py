"""Names shared by processes: tasks, queues, Redis keys and notifications. Each is built only here.

Redis holds nothing that is not in the ledger, so losing Redis loses no item. A process that misses a notification of
Postgres finds its content in the ledger.

| key | content | kept |
|---|---|---|
| `tamis:<queue>` and kombu's own keys | messages (ids only) | until acknowledged |
| `tamis:celery-taskset-meta-*` | progress of a chord | until its body has run, 7 days at most |
| `tamis:celery-task-meta-*` | results of `tamis.evaluate` and `tamis.submit` | a day |
| `tamis:limit:{<endpoint and model>}:*` | the shared rate limit | two minutes after its last use |
| `tamis:probe` | nothing: it tests whether Redis accepts writes | a minute |
| `tamis:worker:<id>` | report of a worker, read during outages of the ledger | two leases after its last update |

| channel of Postgres | notification with a batch's id, at the commit |
|---|---|
| `tamis_batches` | the batch is paused or cancelled; also completed, except batches of single calls by services |
| `tamis_calls` | items of a service's batch have ended |
| `tamis_doctor` | no batch's id, but a text that the doctor waits for |
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from ..values.printable import printable_line
from .status import Priority

KEY_PREFIX = "tamis:"
SMALL = 20  # items; a larger batch never holds the single calls of several callers, nor uses the lane of small batches
LANES = 4  # queues of one priority; each batch uses a single lane, so it need not wait for all items of a larger batch
PROBE_KEY = f"{KEY_PREFIX}probe"
CONTROL_QUEUE = "control"  # aggregates: never behind thousands of items
AGGREGATE = "tamis.aggregate"
DOOR_QUEUE = "tamis"  # for services that have Celery but not Tamis
SUBMIT = "tamis.submit"  # from such services: a batch; the task's result is the batch's id
EVALUATE = "tamis.evaluate"  # from such services: one item; the task's result is the item's result
WORKER_KEYS = f"{KEY_PREFIX}worker:"
RATE_KEYS = f"{KEY_PREFIX}limit:*:rate"  # hashes with the state of rate limits
RATE_KEY = re.compile(rf"{KEY_PREFIX}limit:\{{(?P<endpoint>[^|]*)\|(?P<model>.*)\}}:rate", re.DOTALL)
BATCHES_CHANNEL = "tamis_batches"
CALLS_CHANNEL = "tamis_calls"
SHORT_ID = 8  # characters of a batch's id, unique within most ledgers
LONGEST_LABEL = 80  # characters of an item's id


@dataclass(frozen=True)
class ItemQueue:
    """A queue of items: one task per item."""

    priority: Priority
    lane: int  # from 0

    @property
    def name(self) -> str:
        return f"items.{self.priority.value}.{self.lane}"


ITEM_QUEUES: Mapping[str, ItemQueue] = {
    queue.name: queue for queue in (ItemQueue(priority, lane) for priority in Priority for lane in range(LANES))
}


def limiter_key(endpoint: str, model: str) -> str:
    """Return the prefix of a rate limit's Redis keys. Braces in the prefix keep these keys in one slot of a cluster.

    Other programs can read keys, so user, password and query of the endpoint's URL are removed.
    """
    parts = urlsplit(endpoint)
    endpoint = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    return f"{KEY_PREFIX}limit:{{{endpoint}|{model}}}"


def worker_key(worker_id: str) -> str:
    """Return the Redis key of a worker's report on its state."""
    return f"{WORKER_KEYS}{worker_id}"


def item_label(batch_id: str, index: int, item_id: str) -> str:
    """Return an item's name in Flower (Celery's monitor): short batch id, index and item id, never the title."""
    return f"batch={batch_id[:SHORT_ID]} index={index} {item_words(item_id)}"


def item_words(item_id: str) -> str:
    """Return the item id, shortened and printable, as part of a name in Flower (Celery's monitor)."""
    return f"item={printable_line(item_id[:LONGEST_LABEL])}"


def shard_label(batch_id: str, round_: int, shard: int) -> str:
    """Return the name in Flower (Celery's monitor) of the task that runs after all items of a shard."""
    return f"batch={batch_id[:SHORT_ID]} round={round_} shard={shard}"


def task_name(operation: str) -> str:
    """Return the name of the Celery task that evaluates one item of an operation: `tamis.filter`, `tamis.inclusion`."""
    return f"tamis.{operation}"
