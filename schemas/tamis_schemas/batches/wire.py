"""Names that travel between processes: tasks, queues and Redis keys. Each is built here and nowhere else.

Redis holds nothing that the ledger does not know: losing all of it loses no item. What Postgres notifies of is in the
ledger too: who hears nothing looks.

| key | what | lives |
|---|---|---|
| `tamis:<queue>` and kombu's own keys | messages (ids only) | until acknowledged |
| `tamis:celery-taskset-meta-*` | how far a chord has come | until its body has run, 7 days at most |
| `tamis:celery-task-meta-*` | results of `tamis.evaluate` and `tamis.submit` | a day |
| `tamis:limit:{<endpoint and model>}:*` | the shared rate limit | two minutes after its last use |
| `tamis:probe` | nothing: whether it can be written is the question | a minute |
| `tamis:worker:<id>` | how a worker is, for the time that the ledger is away | two leases after it was last said |

| channel of Postgres | a batch's id is told with the commit |
|---|---|
| `tamis_batches` | in which it was paused, cancelled or, where it is no service's, completed |
| `tamis_calls` | in which items of a service's batch have ended |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urlsplit, urlunsplit

from ..values.printable import printable_line
from .status import Priority

KEY_PREFIX = "tamis:"
LANES = 4  # queues of one priority; a batch goes through one, so that it is not behind all items of a larger one
PROBE_KEY = f"{KEY_PREFIX}probe"
CONTROL_QUEUE = "control"  # aggregates: never behind thousands of items
AGGREGATE = "tamis.aggregate"
DOOR_QUEUE = "tamis"  # what services that have Celery and nothing of Tamis send
SUBMIT = "tamis.submit"  # by them: a batch; its id is the result
EVALUATE = "tamis.evaluate"  # by them: one item; its result is the result
WORKER_KEYS = f"{KEY_PREFIX}worker:"
BATCHES_CHANNEL = "tamis_batches"
CALLS_CHANNEL = "tamis_calls"
SHORT_ID = 8  # characters of a batch's id: enough to tell the batches of one ledger apart
LONGEST_LABEL = 80  # characters of an item's id


@dataclass(frozen=True)
class ItemQueue:
    """One of the queues of items: one task per item."""

    priority: Priority
    lane: int  # from 0

    @property
    def name(self) -> str:
        return f"items.{self.priority.value}.{self.lane}"


ITEM_QUEUES: Mapping[str, ItemQueue] = MappingProxyType(
    {queue.name: queue for queue in (ItemQueue(priority, lane) for priority in Priority for lane in range(LANES))}
)


def limiter_key(endpoint: str, model: str) -> str:
    """The prefix of one limit's keys; the braces keep them in one slot of a Redis cluster.

    Keys are everybody's to read, so the endpoint stands here without a user, a password or a query.
    """
    parts = urlsplit(endpoint)
    endpoint = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    return f"{KEY_PREFIX}limit:{{{endpoint}|{model}}}"


def worker_key(worker_id: str) -> str:
    """Return the key of a worker's report."""
    return f"{WORKER_KEYS}{worker_id}"


def item_label(batch_id: str, index: int, item_id: str) -> str:
    """Return an item's name in Flower: never its title. The batch stands as `tamis batches` lists it."""
    return f"batch={batch_id[:SHORT_ID]} index={index} {item_words(item_id)}"


def item_words(item_id: str) -> str:
    """Return what every name in Flower says of an item."""
    return f"item={printable_line(item_id[:LONGEST_LABEL])}"


def shard_label(batch_id: str, round_: int, shard: int) -> str:
    """Return the name in Flower of the body of a shard's chord."""
    return f"batch={batch_id[:SHORT_ID]} round={round_} shard={shard}"


def task_name(operation: str) -> str:
    """The Celery task that evaluates one item of an operation: `tamis.filter`, `tamis.inclusion`."""
    return f"tamis.{operation}"
