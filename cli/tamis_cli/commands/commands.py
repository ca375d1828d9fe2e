"""The declaration of commands, with examples at the end of their help, and a next step for each error."""

import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, isgeneratorfunction, signature
from typing import Any, TypeVar

import typer
from typer._click.exceptions import NoArgsIsHelpError
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from tamis_schemas import ConfigurationError, InvalidRequest, OperationFailed, TamisError, Unavailable
from tamis_schemas.errors import InputError, UnknownBatch
from tamis_schemas.values.printable import STANDARD_OUTPUT

from .command_list import COMMANDS
from .console import end_unread, out
from .json_document import AsJson, AsJsonLines, print_json, print_json_lines

NAMES_A_STEP = re.compile(r"`tamis |\btamis\[|--[a-z]|\bTAMIS_[A-Z]")  # a command, an extra, an option, a setting
DOCTOR = "doctor"

Function = TypeVar("Function", bound=Callable[..., Any])


class Documented(TyperCommand):
    """A command with examples in its help. An error that it raises gets a note with the user's next step."""

    examples: tuple[str, ...] = ()  # whole command lines

    def format_help(self, ctx: Any, formatter: Any) -> None:  # `Any`: types of Typer's own click, here and below
        """Write click's help page, the examples, and a hint about exit codes. Examples stay on one line."""
        self.rich_markup_mode = None  # Typer's tables cut the names of options in narrow terminals
        super().format_help(ctx, formatter)
        if self.examples:
            formatter.write("\nExamples:\n" + "".join(f"  {line}\n" for line in self.examples))
        formatter.write("\n`tamis help exit-codes` explains the exit codes.\n")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the command."""
        with usage_errors(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Invoke the command. If the command raises a `TamisError`, add a note with the user's next step.

        If the command writes its output file to standard output, print its messages on standard error.
        """
        out.stderr = ctx.params.get("output") == STANDARD_OUTPUT
        try:
            return super().invoke(ctx)
        except TamisError as error:
            if (step := next_step(error, path_of(ctx))) is not None:
                error.add_note(step)
            raise
        finally:
            out.stderr = False


def next_step(error: TamisError, command: str) -> str | None:
    """Return what the user may do after an error of `command`.

    Return None if nothing is known to help, or if the error's message already names a step.
    """
    if NAMES_A_STEP.search(str(error)):
        return None
    match error:
        case Unavailable() | ConfigurationError() | OperationFailed() if command != DOCTOR:
            return "`tamis doctor` checks servers, settings and LLM"
        case UnknownBatch():
            return "`tamis batches` lists the latest batches, `tamis review list` the latest reviews"
        case InputError():
            return f"`tamis help {command}` shows its input"
        case InvalidRequest():
            return f"`tamis help {command}` shows its usage"
    return None


class ByTheme(TyperGroup):
    """The group of all commands. Its help shows the commands under their themes, in the order of the list `COMMANDS`.

    A command that is not in this list comes last, without a theme.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        declared: dict[str, Any] = dict(self.commands)
        themes = {row.name: row.theme for row in COMMANDS if row.name in declared}
        for name, theme in themes.items():
            declared[name].rich_help_panel = theme
        self.commands = {name: declared[name] for name in themes} | declared

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options of `tamis` itself."""
        with usage_errors(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Parse and invoke the command. If the reader of its output stops early (`| head -1`), end without an error."""
        with usage_errors(ctx):
            try:
                result = super().invoke(ctx)
                sys.stdout.flush()
            except BrokenPipeError:
                end_unread()
            return result


@contextmanager
def usage_errors(ctx: Any) -> Iterator[None]:
    """Replace Typer's usage errors by `InvalidRequest`, which is printed as one line instead of Typer's box."""
    try:
        yield
    except NoArgsIsHelpError:
        raise
    except TyperException as wrong:
        path = path_of(getattr(wrong, "ctx", None) or ctx)
        message = " ".join(wrong.format_message().replace("Value error, ", "").split()).rstrip(".")
        error = InvalidRequest(message[:1].lower() + message[1:])
        error.add_note(f"`tamis help {path}` shows its usage" if path else "`tamis help` lists the commands")
        raise error from wrong


class Commands(typer.Typer):
    """A Typer application or group, whose commands have examples in their help."""

    def group(self, name: str, help: str, **options: Any) -> "Commands":  # noqa: A002 - as Typer calls it
        """Add and return a group of commands. If a user names no command of the group, the group shows its help."""
        group = Commands(name=name, help=help, no_args_is_help=True, **options)
        self.add_typer(group)
        return group

    def command(
        self, name: str | None = None, *, examples: Sequence[str] = (), json_lines: bool = False, **options: Any
    ) -> Callable[[Function], Function]:
        """Declare a command as Typer does, with whole command lines as examples.

        If the function is a generator, the function `with_json` adds the option `--json`. With `json_lines`, that
        option prints each element of the JSON document on its own line.
        """
        cls = type("WithExamples", (Documented,), {"examples": tuple(examples)})
        declare: Callable[[Function], Function] = super().command(name, cls=cls, **options)

        def declared(function: Function) -> Function:
            declare(with_json(function, lines=json_lines) if isgeneratorfunction(function) else function)
            return function

        return declared


def with_json(command: Callable[..., Generator[Any, None, None]], *, lines: bool = False) -> Callable[..., None]:
    """Turn the generator function `command` into an ordinary function with the option `--json`.

    The generator yields a JSON document, and then prints text for people. With `--json`, the document is printed, and
    the generator is closed before that text. An expensive document is yielded as a function that returns the document;
    only `--json` calls this function. `lines`: print the document as one JSON object per line.
    """
    option, show = (AsJsonLines, print_json_lines) if lines else (AsJson, print_json)
    parameters = signature(command, eval_str=True).parameters.values()

    @wraps(command)
    def run(*, as_json: bool, **arguments: Any) -> None:
        telling = command(**arguments)
        document = next(telling)
        if not as_json:
            next(telling, None)
            return
        value = document() if callable(document) else document
        telling.close()
        show(value)

    return signed(run, [*parameters, Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=option)])


def signed(run: Callable[..., None], parameters: Sequence[Parameter]) -> Callable[..., None]:
    """Set the signature of `run` to `parameters`, for Typer to read, and return `run`."""
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def path_of(ctx: Any) -> str:
    """Return a command's path, such as `review run`: its groups and its name, without the program's name."""
    names: list[str] = []
    while ctx.parent is not None:
        names.insert(0, str(ctx.info_name))
        ctx = ctx.parent
    return " ".join(names)


@dataclass(frozen=True)
class Page:
    """A command with its path, such as `review run`."""

    path: str
    command: Any  # a command object of Typer's own click

    @property
    def options(self) -> tuple[str, ...]:
        """Return all names of the command's options, such as `-o` and `--output`."""
        return tuple(name for param in self.command.params for name in param.opts if name.startswith("-"))

    @property
    def examples(self) -> tuple[str, ...]:
        """Return the command's examples, as whole command lines."""
        return self.command.examples if isinstance(self.command, Documented) else ()

    def told(self) -> dict[str, Any]:
        """Return the command's path, help, options and examples as a dict, for programs."""
        summary = " ".join((self.command.help or "").split())
        return {"command": self.path, "help": summary, "options": self.options, "examples": self.examples}


def pages(command: Any, path: str = "") -> Iterator[Page]:
    """Yield the page of a command or, for a group, the pages of its commands at any depth, in order."""
    if not isinstance(command, TyperGroup):
        yield Page(path, command)
        return
    for name, inner in command.commands.items():
        yield from pages(inner, f"{path} {name}".strip())
