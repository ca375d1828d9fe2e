"""The command line's frame: the application, its consoles, and how errors end it."""

import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType, TracebackType

from rich.markup import escape
from typer.main import get_install_completion_arguments

from tamis_schemas import TamisError

from ..redaction import Redaction
from .commands import ByTheme, Commands
from .console import PlainConsole
from .exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_WRONG_USE

__all__ = [
    "COMPLETE_VARIABLE",
    "EXIT_FAILED",
    "EXIT_INTERRUPTED",
    "EXIT_OK",
    "EXIT_WRONG_USE",
    "NAME",
    "app",
    "err",
    "know_the_shells",
    "load_commands",
    "out",
    "run",
    "say_error",
]

NAME = "tamis"
COMPLETE_VARIABLE = "_TAMIS_COMPLETE"  # by which a shell asks what Tab could complete, as Typer names it

# Each module with its commands: a command that is called needs no other module.
MODULES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "submit": ("screen", "filter", "score", "extract", "fields", "answer"),
        "judge": ("judge",),
        "initial_filter": ("initial-filter",),
        "criteria": ("criteria",),
        "review": ("review",),
        "read": ("batches", "status", "results", "export"),
        "report": ("report",),
        "control": ("pause", "resume", "cancel", "priority"),
        "retry": ("retry", "failures"),
        "pilot": ("pilot",),
        "evaluate": ("evaluate", "calibrate"),
        "override": ("override", "overrides", "agreement"),
        "audit": ("audit",),
        "serve": ("serve", "keys"),
        "workers": ("workers",),
        "manual": (),  # it tells of all the others
    }
)

out = PlainConsole()
err = PlainConsole(stderr=True)

app = Commands(
    name=NAME,
    cls=ByTheme,
    help="Push records through LLM evaluation and keep what passes.",
    no_args_is_help=True,
    # Typer's own options for it rewrite start-up files, and in PowerShell lift the policy on scripts for the user:
    # `tamis completion` prints the script instead.
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
    if COMPLETE_VARIABLE in os.environ:
        know_the_shells()
        load_commands()
    else:
        load_commands(*sys.argv[1:2])
    try:
        app(prog_name=NAME)
    except TamisError as error:
        say_error(error, redact)
        sys.exit(EXIT_WRONG_USE)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:  # `tamis results ... | head`
        sys.stderr.close()
        sys.exit(EXIT_OK)


def load_commands(name: str | None = None) -> None:
    """Add the commands of a producer to `app`; of one that is called alone its module only, and what that imports."""
    own = {one.name or getattr(one.callback, "__name__", "") for one in app.registered_commands}
    homes = [module for module, commands in MODULES.items() if name in commands]
    for module in homes or ([] if name in own else MODULES):
        import_module(f".{module}", __package__)


def know_the_shells() -> None:
    """Have Typer know how each shell asks; it learns that only where its own `--install-completion` is offered."""
    get_install_completion_arguments()


def say_error(error: TamisError, redact: Callable[[str], str] = str) -> None:
    """An error on standard error: what is wrong, and the next step, where a note of the error names one."""
    said = redact(str(error))
    before = "\n" if "\n" in said else " "  # what quotes a log has many lines; anything else is one line with its step
    steps = "".join(f"{before}[dim]({escape(note)})[/]" for note in getattr(error, "__notes__", ()))
    err.print(f"[bold red]tamis:[/] {escape(said)}{steps}", soft_wrap=True, highlight=False)


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
