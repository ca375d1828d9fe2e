"""One worker process, from its settings to its end.

The bodies of the Celery tasks parse their arguments and wait for the engine. Tasks of items and shards never raise,
because an exception in a chord's header would keep the chord's body from running. The ledger holds an item's error, and
the reconciler finds other failures. Tasks that services send by name raise errors for their senders.
"""

import gc
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from celery import Celery, signals

from tamis_producer.config.redaction import Redaction
from tamis_producer.process import tracing
from tamis_producer.runs.completion import follow
from tamis_producer.transport.broker import make_app
from tamis_schemas import TamisError, Unavailable
from tamis_schemas.batches import wire
from tamis_schemas.operations import OPERATIONS, operation_name

from ..celery_adapter.awaited_strategy import SentRequest, aggregate_strategy, send_aggregated, taken_answer
from ..celery_adapter.consumer_step import install, work
from ..celery_adapter.remote_control import EngineControls, RemoteControl
from ..config.settings import WorkerSettings
from ..ledger.cancellations import cancel_items, cancel_waiting
from ..ledger.claims import ItemKey
from ..ledger.shards import Closing, close_shard
from ..limiter.limiter import Limiter
from ..liveness.watchdog import EXIT_STALLED, AliveFile, Observation, Watchdog, WatchdogBounds
from ..telemetry import log as log_setup
from ..telemetry.tracing import traced
from .evaluation_stack import SETTLING
from .runtime import STOP_GRACE, Runtime

log = logging.getLogger(__name__)

WRITE_WITHIN = 120.0  # s; four times a statement's limit
CLOSE_WITHIN = 30.0  # s, after the items in flight have ended
SERVICE = "tamis-worker"  # in traces

ANSWER_WITHIN = 5.0  # s; during that time the consumer's thread takes no message


def controls_of(runtime: Runtime, settings: WorkerSettings, redact: Redaction) -> EngineControls:
    """Return the functions that Celery's remote control can call in this process. Their results contain no secret."""
    engine = runtime.ledger.transactions

    return EngineControls(
        report=lambda: runtime.run(report(runtime), within=ANSWER_WITHIN),
        settings=lambda: settings.model_dump(mode="json"),
        cancel_items=lambda keys: sum(runtime.run(cancel_items(engine, keys), within=ANSWER_WITHIN)),
        cancel_waiting=lambda batch_ids: runtime.run(cancel_waiting(engine, batch_ids), within=ANSWER_WITHIN),
        is_claimed=runtime.evaluation.held.__contains__,
        drain=runtime.drain,
        redact=redact,
    )


async def report(runtime: Runtime) -> Mapping[str, Any]:
    """Return the engine's present figures: items, calls in flight, each model's limiter and circuit breaker."""
    vitals, stack = runtime.vitals.report(), runtime.evaluation
    limiters = stack.limiters.known()
    return {
        "worker": vitals.id,
        "version": vitals.version,
        "state": vitals.state.value,
        "reason": vitals.reason,
        "items": {
            "at_once": vitals.concurrency,
            "here": vitals.in_flight,
            "claimed": len(stack.held),
            "without_capacity": stack.capacity.waiting,
        },
        "calls_in_flight": sum(limiter.in_flight for limiter in limiters.values()),
        "limiters": {model: _limiter(limiter) for model, limiter in limiters.items()},
        "circuit_breakers": dict(stack.runner.breakers),
    }


def _limiter(limiter: Limiter) -> Mapping[str, Any]:
    """Return figures of a model's limiter, as this process knows them. A figure is None if it is not set or known."""
    return {
        "calls_in_flight": limiter.in_flight,
        "calls_waiting": limiter.waiting,
        "calls_at_once_of_all_workers": limiter.concurrency,
        "requests_per_minute": limiter.limits.rpm,
        "tokens_per_minute": limiter.limits.tpm,
        "share_of_requests": limiter.share_of_requests,
        "blocked_seconds": limiter.blocked,
    }


def run(
    settings: WorkerSettings,
    *,
    ready_file: Path | None = None,
    alive_file: Path | None = None,
    log_level: str = "INFO",
    name: str | None = None,
) -> int:
    """Work until SIGTERM or SIGINT, then finish the calls in flight, and return the process's exit code.

    `name` is the worker's name in Celery's tools; None: a unique name. `ready_file` is created when the worker begins
    to take messages. `alive_file` is rewritten while the worker works. A stalled worker ends with `EXIT_STALLED`.

    Raises:
        ConfigurationError: a setting is missing, or the ledger's tables are older than this release.
        LedgerUnavailable: the ledger does not answer at the start.
    """
    redact = Redaction.of(settings)
    log_setup.configure(log_level, redact=redact)
    app = make_app(settings, concurrency=settings.concurrency)
    runtime = Runtime(settings, app, redact)
    register(app, runtime)
    with traced(SERVICE, instance=runtime.worker_id, redact=redact):
        RemoteControl(runtime.deliveries.revocations, controls_of(runtime, settings, redact)).install()
        gc.freeze()  # existing objects stay until the end
        watchdog = _watchdog(runtime, settings, alive_file)

        def ready(**_: object) -> None:
            log.info("worker %s is ready: %d items at once", runtime.worker_id, settings.concurrency)
            watchdog.start()
            if ready_file is not None:
                ready_file.touch()

        try:  # the watchdog checks until everything is closed
            with runtime.running():
                signals.worker_ready.connect(ready, weak=False)
                signals.worker_shutting_down.connect(lambda **_: runtime.drain(), weak=False)
                name = name or f"tamis-{runtime.worker_id}"
                exit_code = work(app, name=name, items_at_once=settings.concurrency, log_level=log_level)
                return EXIT_STALLED if watchdog.verdict else exit_code
        finally:
            watchdog.end()


def _watchdog(runtime: Runtime, settings: WorkerSettings, alive_file: Path | None) -> Watchdog:
    def tell(observation: Observation, verdict: str | None) -> None:
        if alive_file is not None:
            report = runtime.vitals.report()
            AliveFile(report.pid or 0, time.monotonic(), report.state.value, report.reason, verdict).write(alive_file)

    bounds = WatchdogBounds(
        stalled_after=settings.stalled_after_seconds,
        concurrency=settings.concurrency,
        write_within=max(WRITE_WITHIN, settings.stalled_after_seconds),
        stop_within=settings.longest_call + STOP_GRACE + CLOSE_WITHIN,
        farewell=settings.call_timeout + SETTLING,
    )
    return Watchdog(runtime.vitals.observe, bounds, tell=tell)


def register(app: Celery, runtime: Runtime) -> None:
    """Register in `app` one task per operation, the task that closes shards, and the tasks that services send."""

    deliveries = runtime.deliveries
    install(app, deliveries, runtime.sent, runtime.foreign)

    # A worker's messages bypass this body on their way to the loop; a direct call has the same effect.
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
                    log.info("batch=%s continues with the records that passed batch=%s", following, batch_id)
                    runtime.dispatcher.fill_window(following)
            return closing
        except Unavailable as error:
            log.warning("batch=%s shard=%s waits for the reconciler: %s", batch_id, shard, error)
        except Exception:  # the shard stays dispatched in the ledger; the reconciler closes it
            log.exception("batch=%s shard=%s could not be closed", batch_id, shard)
        return "waits for the reconciler"

    for operation in OPERATIONS:
        name = wire.task_name(operation_name(operation))
        app.task(name=name, shared=False, ignore_result=True, Strategy=deliveries)(evaluate)
    # `send_aggregated` sends this task's events. Celery's own events would count the task among the items.
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
            throws=(TamisError,),  # for their senders; in the log they are no errors of the worker
        )(answered)
