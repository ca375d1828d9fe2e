"""Celery's worker: one process that takes the messages of all queues, with one thread of its own, for aggregates."""

from celery import Celery

from tamis_schemas.batches import wire


def work(app: Celery, *, name: str, items_at_once: int, log_level: str) -> int:
    """Take messages until the process is told to stop; its exit code.

    Celery drops an option that it does not know without a word: each of these has its row in the contract test.
    """
    worker = app.Worker(
        hostname=name,
        pool="threads",
        concurrency=1,  # for aggregates; items need no thread, see `item_strategy`
        prefetch_multiplier=items_at_once,
        queues=[*wire.ITEM_QUEUES, wire.CONTROL_QUEUE],
        without_gossip=True,
        without_mingle=True,
        task_events=True,
        loglevel=log_level,
    )
    worker.start()
    return int(worker.exitcode or 0)
