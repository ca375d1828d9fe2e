"""One worker process, from its settings to its end."""

import gc
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from celery import Celery, signals

from tamis_producer.config.redaction import Redaction
from tamis_producer.transport.broker import make_app

from ..celery_adapter.remote_control import EngineControls, RemoteControl
from ..celery_adapter.worker import work
from ..config.settings import WorkerSettings
from ..ledger.cancellations import cancel_items, cancel_waiting
from ..ledger.claims import ItemKey
from ..limiter.limiter import Limiter
from ..liveness.alive_file import AliveFile
from ..liveness.watchdog import EXIT_STALLED, Bounds, Observation, Watchdog
from ..telemetry import log as log_setup
from ..telemetry.tracing import traced
from .evaluation_stack import SETTLING
from .runtime import STOP_GRACE, Runtime
from .tasks import register

ANSWER_WITHIN = 5.0  # s; meanwhile the consumer's thread takes no message


def controls_of(runtime: Runtime, settings: WorkerSettings, redact: Redaction) -> EngineControls:
    """The controls of one worker process; what they return names no secret of it."""
    engine = runtime.ledger.transactions

    def cancelled(keys: Sequence[ItemKey]) -> int:
        return sum(runtime.run(cancel_items(engine, keys), within=ANSWER_WITHIN))

    def waiting_cancelled(batch_ids: Collection[UUID]) -> int:
        return runtime.run(cancel_waiting(engine, batch_ids), within=ANSWER_WITHIN)

    return EngineControls(
        report=lambda: runtime.run(report(runtime), within=ANSWER_WITHIN),
        settings=lambda: settings.model_dump(mode="json"),  # secret texts are stars in it, URLs are not
        cancel_items=cancelled,
        cancel_waiting=waiting_cancelled,
        is_claimed=runtime.evaluation.held.__contains__,
        drain=runtime.drain,
        redact=redact,
    )


async def report(runtime: Runtime) -> Mapping[str, Any]:
    """What the engine holds: items, calls in flight, each model's limiter and circuit breaker."""
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
            "claimed": len(stack.held.keys),
            "without_capacity": stack.capacity.waiting,
        },
        "calls_in_flight": sum(limiter.in_flight for limiter in limiters.values()),
        "limiters": {model: _limiter(limiter) for model, limiter in limiters.items()},
        "circuit_breakers": dict(stack.runner.breakers),
    }


def _limiter(limiter: Limiter) -> Mapping[str, Any]:
    """The shared limit of a model as this process last heard of it; `None`: no such limit is set or known."""
    return {
        "calls_in_flight": limiter.in_flight,
        "calls_waiting": limiter.waiting,
        "calls_at_once_of_all_workers": limiter.concurrency,
        "requests_per_minute": limiter.limits.rpm,
        "tokens_per_minute": limiter.limits.tpm,
        "share_of_requests": limiter.share_of_requests,
        "blocked_seconds": limiter.blocked,
    }


log = logging.getLogger(__name__)


WRITE_WITHIN = 120.0  # s; four times what a statement may take
CLOSE_WITHIN = 30.0  # s, beyond what is in flight
SERVICE = "tamis-worker"  # in traces


def run(
    settings: WorkerSettings,
    *,
    ready_file: Path | None = None,
    alive_file: Path | None = None,
    log_level: str = "INFO",
    name: str | None = None,
) -> int:
    """Work until SIGTERM or SIGINT; calls in flight are finished first. The process's exit code.

    `name` is the one that Celery's tools know the worker by; None: one that no other process ever had. `ready_file` is
    created once the worker consumes; `alive_file` is written again and again as long as it works. A worker that stalls
    ends with `EXIT_STALLED`.

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
        name = name or f"tamis-{runtime.worker_id}"
        files = {"ready_file": ready_file, "alive_file": alive_file}
        return _work(settings, app, runtime, name=name, log_level=log_level, **files)


def _work(
    settings: WorkerSettings,
    app: Celery,
    runtime: Runtime,
    *,
    name: str,
    ready_file: Path | None,
    alive_file: Path | None,
    log_level: str,
) -> int:
    gc.freeze()  # what is there by now stays to the end
    watchdog = _watchdog(runtime, settings, alive_file)
    try:  # the watchdog looks until everything is closed
        with runtime.running():

            def ready(**_: object) -> None:
                log.info("worker %s is ready: %d items at once", runtime.worker_id, settings.concurrency)
                watchdog.start()
                if ready_file is not None:
                    ready_file.touch()

            def shutting_down(**_: object) -> None:
                runtime.drain()

            signals.worker_ready.connect(ready, weak=False)
            signals.worker_shutting_down.connect(shutting_down, weak=False)
            exit_code = work(app, name=name, items_at_once=settings.concurrency, log_level=log_level)
            return EXIT_STALLED if watchdog.verdict else exit_code
    finally:
        watchdog.end()


def _watchdog(runtime: Runtime, settings: WorkerSettings, alive_file: Path | None) -> Watchdog:
    def tell(observation: Observation, verdict: str | None) -> None:
        if alive_file is not None:
            report = runtime.vitals.report()
            AliveFile(report.pid or 0, time.monotonic(), report.state.value, report.reason, verdict).write(alive_file)

    bounds = Bounds(
        stalled_after=settings.stalled_after_seconds,
        concurrency=settings.concurrency,
        write_within=max(WRITE_WITHIN, settings.stalled_after_seconds),
        stop_within=settings.longest_call + STOP_GRACE + CLOSE_WITHIN,
        farewell=settings.call_timeout + SETTLING,
    )
    return Watchdog(runtime.vitals.observe, bounds, tell=tell)
