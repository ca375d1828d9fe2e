"""The Celery tasks: thin bodies that parse their arguments and wait for the core.

Those of items and shards never raise. What went wrong with an item is in the ledger; what went wrong around it is found
by the reconciler. A header task that raised would leave its chord's body unrun. Those that services send by name raise
what their senders are to hear.
"""

import logging
from typing import Any
from uuid import UUID

from celery import Celery

from tamis_producer.process import tracing
from tamis_producer.runs.completion import follow
from tamis_schemas import TamisError, Unavailable
from tamis_schemas.batches import wire
from tamis_schemas.operations import OPERATIONS, operation_name

from ..celery_adapter.aggregate_strategy import aggregate_strategy, send_aggregated
from ..celery_adapter.awaited_strategy import taken_answer
from ..celery_adapter.consumer_step import install
from ..celery_adapter.sent_request import SentRequest
from ..ledger.claims import ItemKey
from ..ledger.shards import Closing, close_shard
from .runtime import Runtime

log = logging.getLogger(__name__)


def register(app: Celery, runtime: Runtime) -> None:
    """Give `app` one task per operation, the aggregate, and those that services send by name."""

    deliveries = runtime.deliveries
    install(app, deliveries, runtime.sent, runtime.foreign)

    # A worker's messages go past this body, straight to the loop; called directly, the task does the same.
    def evaluate(batch_id: str, index: int) -> None:
        runtime.run(runtime.evaluation.evaluator.evaluate(ItemKey(UUID(batch_id), index)))

    def aggregate(task: Any, batch_id: str, round_: int, shard: int) -> None:
        with tracing.aggregating(batch_id, round_, shard, of=(task.request.headers or {}).get(tracing.HEADER)):
            came_to = close(batch_id, round_, shard)
        send_aggregated(task, came_to)

    def close(batch_id: str, round_: int, shard: int) -> str:
        try:
            closing = runtime.run(close_shard(runtime.ledger.transactions, UUID(batch_id), round_, shard))
            if closing is Closing.CLOSED:
                runtime.dispatcher.fill_window(UUID(batch_id))
            elif closing is Closing.COMPLETED:
                log.info("batch=%s completed", batch_id)
                for following in follow(runtime.dispatch_engine, UUID(batch_id)):
                    log.info("batch=%s takes up what passed batch=%s", following, batch_id)
                    runtime.dispatcher.fill_window(following)
            return closing
        except Unavailable as error:
            log.warning("batch=%s shard=%s left to the reconciler: %s", batch_id, shard, error)
        except Exception:  # the shard stays dispatched in the ledger; the reconciler closes it
            log.exception("batch=%s shard=%s could not be closed", batch_id, shard)
        return "left to the reconciler"

    for operation in OPERATIONS:
        name = wire.task_name(operation_name(operation))
        app.task(name=name, shared=False, ignore_result=True, Strategy=deliveries)(evaluate)
    # Its events are `send_aggregated`'s: Celery's own would count it among the items.
    aggregates = {"Strategy": staticmethod(aggregate_strategy), "send_events": False}
    app.task(name=wire.AGGREGATE, shared=False, bind=True, ignore_result=True, **aggregates)(aggregate)

    def answered(task: Any, *_: Any, **__: Any) -> Any:
        return taken_answer(task)

    for name in (wire.EVALUATE, wire.SUBMIT):
        app.task(
            name=name,
            shared=False,
            bind=True,
            ignore_result=False,
            Strategy=runtime.sent,
            Request=SentRequest,
            throws=(TamisError,),  # their senders hear of these; in the log they are no errors of the worker
        )(answered)
