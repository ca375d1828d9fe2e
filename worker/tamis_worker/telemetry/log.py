"""The format of log lines: readable text on a terminal, JSON elsewhere. Keys and passwords are removed."""

import logging
import sys
from typing import Any

import structlog
from celery import signals

from tamis_producer.config.redaction import Redaction
from tamis_schemas.values.printable import printable

QUIET = ("openai", "httpx2", "httpcore2", "amqp", "kombu", "celery.app.trace", "celery.worker.strategy")


class RedactedFormatter(structlog.stdlib.ProcessorFormatter):
    """The formatter that removes the process's secrets from each formatted line, including tracebacks."""

    def __init__(self, *args: Any, redact: Redaction, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))


def configure(level: str = "INFO", *, redact: Redaction | None = None) -> None:
    """Send this process's log to stderr, with secrets removed. Keep Celery from configuring its own log."""
    terminal = sys.stderr.isatty()
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        RedactedFormatter(
            redact=redact or Redaction.of_environment(),
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *([_printable_event] if terminal else []),
                *([] if terminal else [structlog.processors.format_exc_info]),
                structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    signals.setup_logging.connect(_leave_logging_alone, weak=False)


def _printable_event(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Return the event with U+FFFD for each control character, so that no terminal interprets it."""
    event["event"] = printable(str(event.get("event", "")))
    return event


def _leave_logging_alone(**_: object) -> None:
    """Do nothing. Celery configures no logging if its signal `setup_logging` has a receiver."""
