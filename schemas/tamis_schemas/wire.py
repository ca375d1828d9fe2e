"""Names that travel between processes: tasks, queues and Redis keys. Each is built here and nowhere else.

Redis holds nothing that the ledger does not know: losing all of it loses no item.

| key | what | lives |
|---|---|---|
| `tamis:<queue>` and kombu's own keys | messages (ids only) | until acknowledged |
| `tamis:celery-taskset-meta-*` | how far a chord has come | until its body has run, 7 days at most |
| `tamis:limit:{<endpoint and model>}:*` | the shared rate limit | two minutes after its last use |
"""

KEY_PREFIX = "tamis:"
QUEUE = "items"  # one task per item
CONTROL_QUEUE = "control"  # aggregates: never behind thousands of items
AGGREGATE = "tamis.aggregate"
SHORT_ID = 8  # characters of a batch's id: enough to tell the batches of one ledger apart
LONGEST_LABEL = 80  # characters of an item's id


def limiter_key(endpoint: str, model: str) -> str:
    """The prefix of one limit's keys; the braces keep them in one slot of a Redis cluster."""
    return f"{KEY_PREFIX}limit:{{{endpoint}|{model}}}"


def item_label(batch_id: str, index: int, item_id: str) -> str:
    """How Flower names an item: never by its title. The batch stands as `tamis batches` lists it."""
    return f"batch={batch_id[:SHORT_ID]} index={index} item={item_id[:LONGEST_LABEL]}"


def shard_label(batch_id: str, round_: int, shard: int) -> str:
    """How Flower names the body of a shard's chord."""
    return f"batch={batch_id[:SHORT_ID]} round={round_} shard={shard}"


def task_name(operation: str) -> str:
    """The Celery task that evaluates one item of an operation: `tamis.filter`, `tamis.inclusion`."""
    return f"tamis.{operation}"
