"""The application for Celery's own tools: `celery -A tamis_worker.celery worker|inspect|control|events|flower|...`.

The application is created at its first use by a tool, with the settings of a worker. `TAMIS_BROKER_URL` names the
broker. Without that variable, the broker of the local stack (started by `tamis up`) is used. All keys in Redis have the
prefix of Tamis. `celery worker` starts the same worker as `tamis worker`.
"""

import logging
import os
import sys
from functools import cache
from typing import Any

import click
from celery import Celery

from tamis_producer.config.settings import ProducerSettings
from tamis_producer.transport.broker import make_app
from tamis_schemas import TamisError

from .celery_adapter.worker_options import WorkerOptions, write_into_log_file


def __getattr__(name: str) -> Any:
    if name == "app":
        return _app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _app() -> Celery:
    # By default Flower listens on every address, without a login.
    os.environ.setdefault("FLOWER_ADDRESS", "127.0.0.1")
    try:
        app = make_app(ProducerSettings.load())
    except TamisError as error:
        if click.get_current_context(silent=True) is None:
            raise
        sys.exit(str(error))  # Celery's command line would show a traceback of any exception here
    app.Worker = Worker
    return app


class Worker:
    """The worker that `celery worker` starts: a worker of Tamis instead of Celery's own."""

    def __init__(self, **options: Any) -> None:
        """Read the options of `celery worker`.

        Raise `click.UsageError` for an option that Tamis does not use. The error names the option's replacement.
        """
        from .config.settings import WorkerSettings

        self.exitcode = 0
        write_into_log_file(options)
        try:
            self._settings = WorkerSettings.load()
            servers = {
                "TAMIS_BROKER_URL": self._settings.broker,
                "TAMIS_RESULT_BACKEND_URL": self._settings.result_backend,
            }
        except TamisError as error:
            raise click.ClickException(str(error)) from error
        self._options = WorkerOptions.read(options, servers)

    def start(self) -> None:
        """Run the worker until it is asked to stop. Raise `click.ClickException` if the worker cannot start."""
        from .process.run import run

        self._options.lock()
        level = logging.getLevelName(self._options.log_level or logging.INFO)
        try:
            self.exitcode = run(self._settings, log_level=level, name=self._options.name)
        except TamisError as error:
            raise click.ClickException(str(error)) from error
