"""Log lines: for people on a terminal, JSON elsewhere; never an item's text, a key or a password."""

import logging
import sys

import structlog
from celery import signals

QUIET = ("openai", "httpx2", "httpcore2", "amqp", "kombu", "celery.app.trace", "celery.worker.strategy")


def configure(level: str = "INFO") -> None:
    """Send this process's log to stderr, and keep Celery from setting up one of its own."""
    people = sys.stderr.isatty()
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *([] if people else [structlog.processors.format_exc_info]),
                structlog.dev.ConsoleRenderer() if people else structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    signals.setup_logging.connect(_leave_logging_alone, weak=False)


def _leave_logging_alone(**_: object) -> None:
    """Celery configures logging unless somebody listens to this signal."""
