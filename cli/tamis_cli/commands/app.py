"""The frame of the command line: the application, its consoles, and its exit after errors."""

import gc
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer.config.redaction import Redaction
from tamis_schemas import TamisError
from tamis_worker.telemetry.tracing import traced

from .command_list import COMMANDS
from .commands import ByTheme, Commands
from .console import err as err
from .console import out as out

NAME = "tamis"
COMPLETE_VARIABLE = "_TAMIS_COMPLETE"  # a shell sets it to ask for completions; Typer chose the name

INTERRUPT_AGAIN_AFTER = 0.01  # seconds; by then, the finaliser that swallowed the interrupt has ended
GARBAGE_AFTER = 20_000  # new objects; with the default of 700, garbage collection takes a fifth of the start-up time
RUNS_A_WORKER = "worker"  # sets up traces itself, under its own name
MANUAL = "manual"  # module of `help` and `completion`, which load all others

# The exit codes with their meanings: this is their only list.
EXIT_OK = 0
EXIT_FAILED = 1
EXIT_WRONG_USE = 2
EXIT_STALLED = 75  # from sysexits: a temporary failure
EXIT_INTERRUPTED = 130  # shells' code: 128 + SIGINT

EXIT_CODES: Mapping[int, str] = {
    EXIT_OK: "done; for a batch or review, every item is decided",
    EXIT_FAILED: "items failed or were cancelled, a batch paused because it could not continue, a check found a fault, "
    "or you answered no",
    EXIT_WRONG_USE: "wrong use, wrong configuration, or a server that does not answer",
    EXIT_STALLED: "a worker made no progress and stopped itself: restart it",
    EXIT_INTERRUPTED: "interrupted with Ctrl-C; a batch or review continues",
}

app = Commands(
    name=NAME,
    cls=ByTheme,
    help="Screen records with a large language model, as a distributed task queue.",
    no_args_is_help=True,
    # Typer's own options rewrite start-up files, and in PowerShell lift the user's policy on scripts. `tamis
    # completion` prints the script instead.
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from tamis_schemas.release import described

        typer.echo(described())
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_say_version)
    ] = False,
) -> None:
    """The options of `tamis` itself."""


def run() -> None:
    """Run the command line. Print a `TamisError`, which a user can correct, without traceback and secrets.

    If the environment asks for OpenTelemetry traces, export them. `tamis worker` exports its own.
    """
    gc.set_threshold(GARBAGE_AFTER)
    redact = Redaction.of_environment()
    sys.excepthook = partial(_print_exception, redact)
    threading.excepthook = lambda args: _print_exception(
        redact, args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback
    )
    sys.unraisablehook = partial(_print_unraisable, redact)
    # Warnings of libraries go to log files only; the commands print the warnings that users need.
    shown = logging.StreamHandler(sys.stderr)
    shown.setFormatter(_Redacting(redact))
    logging.basicConfig(level=logging.WARNING, handlers=[shown])
    with nullcontext() if sys.argv[1:2] == [RUNS_A_WORKER] else traced(NAME, redact=redact):
        try:
            _load_what_is_called()
            gc.freeze()  # the garbage collector, disabled by `start`, never searches the modules imported so far
            gc.enable()
            app(prog_name=NAME)
        except TamisError as error:
            say_error(error, redact)
            sys.exit(EXIT_WRONG_USE)
        except KeyboardInterrupt:
            sys.exit(EXIT_INTERRUPTED)


def _load_what_is_called() -> None:
    if COMPLETE_VARIABLE in os.environ:
        know_the_shells()
        load_commands()
    elif (words := sys.argv[2:] if sys.argv[1:2] == ["--"] else sys.argv[1:]) and not words[0].startswith("-"):
        load_commands(words[0])
    else:  # no command, or an option of `tamis` itself: only names and summaries are needed
        for row in COMMANDS:
            app.command(row.name, help=row.summary)(_listed)


def load_commands(name: str | None = None) -> None:
    """Add commands to `app`. If `name` is a command, import only its module, otherwise all modules.

    The commands `help` and `completion` also need all modules.
    """
    homes = {row.module for row in COMMANDS if row.name == name} - {MANUAL}
    for module in homes or dict.fromkeys(row.module for row in COMMANDS):
        import_module(f".{module}", __package__)


def _listed() -> None:
    raise NotImplementedError("a command that is called is imported by load_commands")


def know_the_shells() -> None:
    """Set up Typer's shell completion, which Typer itself sets up only for its option `--install-completion`."""
    from typer.main import get_install_completion_arguments

    get_install_completion_arguments()


def say_error(error: TamisError, redact: Callable[[str], str] = str) -> None:
    """Print an error on standard error, followed by its notes, which name the user's next step."""
    message = redact(str(error))
    before = "\n" if "\n" in message else " "  # a message that quotes a log has many lines; any other stays one line
    steps = "".join(f"{before}[dim]({escape(note)})[/]" for note in getattr(error, "__notes__", ()))
    err.say(f"[bold red]tamis:[/] {escape(message)}{steps}")


class _Redacting(logging.Formatter):
    """The log format: the message and any traceback, without secrets."""

    def __init__(self, redact: Redaction) -> None:
        super().__init__("%(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))


def _print_exception(
    redact: Redaction, kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print an exception as Python does, but without secrets: messages of libraries may contain passwords in URLs."""
    sys.stderr.write(redact("".join(traceback.format_exception(kind, error, trace))))


def _print_unraisable(redact: Redaction, args: "sys.UnraisableHookArgs") -> None:
    """Print an exception that Python cannot raise, for example from a finaliser. Remove secrets from it.

    A `KeyboardInterrupt` is not printed: after `INTERRUPT_AGAIN_AFTER` seconds, the main thread gets the signal again.
    """
    if issubclass(args.exc_type, KeyboardInterrupt):
        main = threading.main_thread().ident or 0
        threading.Timer(INTERRUPT_AGAIN_AFTER, signal.pthread_kill, (main, signal.SIGINT)).start()
    else:
        _print_exception(redact, args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback)
