"""One worker process, from its settings to its end."""

import gc
import logging
import time
from pathlib import Path

from celery import Celery, signals

from tamis_producer.config.redaction import Redaction
from tamis_producer.transport.broker import make_app

from ..celery_adapter.remote_control import RemoteControl
from ..celery_adapter.worker import work
from ..config.settings import WorkerSettings
from ..liveness.alive_file import AliveFile
from ..liveness.watchdog import EXIT_STALLED, Bounds, Observation, Watchdog
from ..telemetry import log as log_setup
from ..telemetry.tracing import traced
from .engine_controls import controls_of
from .evaluation_stack import SETTLING
from .runtime import STOP_GRACE, Runtime
from .tasks import register

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
