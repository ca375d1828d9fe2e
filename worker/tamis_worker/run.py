"""One worker process, from its settings to its end."""

import logging
from pathlib import Path

from celery import signals

from tamis_producer.broker import make_app
from tamis_schemas import wire

from . import log as log_setup
from .runtime import Runtime
from .settings import WorkerSettings
from .tasks import register

log = logging.getLogger(__name__)


def run(settings: WorkerSettings, *, ready_file: Path | None = None, log_level: str = "INFO") -> int:
    """Work until SIGTERM or SIGINT; calls in flight are finished first. The process's exit code.

    `ready_file` is created once the worker consumes.

    Raises:
        ConfigurationError: a setting is missing.
        LedgerUnavailable: the ledger does not answer at the start.
    """
    log_setup.configure(log_level)
    app = make_app(settings, concurrency=settings.concurrency)
    runtime = Runtime(settings, app)
    register(app, runtime)
    runtime.start()
    try:
        worker = app.Worker(
            hostname=f"tamis-{runtime.worker_id}",
            pool="threads",
            concurrency=1,  # for aggregates; items need no thread, see `deliveries`
            prefetch_multiplier=settings.concurrency,
            queues=[*wire.ITEM_QUEUES, wire.CONTROL_QUEUE],
            without_gossip=True,
            without_mingle=True,
            task_events=True,
            loglevel=log_level,
        )

        def ready(**_: object) -> None:
            log.info("worker %s is ready: %d items at once", runtime.worker_id, settings.concurrency)
            if ready_file is not None:
                ready_file.touch()

        def shutting_down(**_: object) -> None:
            runtime.drain()

        signals.worker_ready.connect(ready, weak=False)
        signals.worker_shutting_down.connect(shutting_down, weak=False)
        worker.start()
        return int(worker.exitcode or 0)
    finally:
        runtime.stop()
