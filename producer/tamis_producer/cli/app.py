"""The command line's frame: the application, its consoles, and how errors end it."""

import logging
import sys
import threading
import traceback
from functools import partial
from types import TracebackType

import typer
from rich.markup import escape

from tamis_schemas import TamisError

from ..redaction import Redaction
from .console import PlainConsole

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_WRONG_USE = 2
EXIT_INTERRUPTED = 130

out = PlainConsole()
err = PlainConsole(stderr=True)

app = typer.Typer(
    name="tamis",
    help="Push records through LLM evaluation and keep what passes.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def run() -> None:
    """Run the command line; one clear line for whatever a user can put right. No secret is in anything it says."""
    redact = Redaction.of_environment()
    sys.excepthook = partial(_print_exception, redact)
    threading.excepthook = lambda args: _print_exception(
        redact, args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback
    )
    # What the libraries warn of is for log files; what a user must know is printed by the commands themselves.
    shown = logging.StreamHandler(sys.stderr)
    shown.setFormatter(_Redacting(redact))
    logging.basicConfig(level=logging.WARNING, handlers=[shown])
    # Importing a command adds it to `app`.
    from . import (  # noqa: F401
        audit,
        control,
        criteria,
        evaluate,
        initial_filter,
        judge,
        override,
        read,
        report,
        retry,
        review,
        serve,
        submit,
        workers,
    )

    try:
        app()
    except TamisError as error:
        err.print(f"[bold red]tamis:[/] {escape(redact(str(error)))}", soft_wrap=True, highlight=False)
        sys.exit(EXIT_WRONG_USE)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:  # `tamis results ... | head`
        sys.stderr.close()
        sys.exit(EXIT_OK)


class _Redacting(logging.Formatter):
    """The message alone, and the traceback where there is one; without secrets."""

    def __init__(self, redact: Redaction) -> None:
        super().__init__("%(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))


def _print_exception(
    redact: Redaction, kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """As Python prints what nobody caught: messages of libraries hold URLs, and these hold passwords."""
    sys.stderr.write(redact("".join(traceback.format_exception(kind, error, trace))))
