"""How a command is declared: with examples, which end its help, and with a next step for each of its errors."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from tamis_schemas import TamisError

from .command_list import COMMANDS
from .layout import laid_out
from .next_step import next_step
from .theme import Theme

Function = TypeVar("Function", bound=Callable[..., Any])


class Documented(TyperCommand):
    """A command with examples; its errors carry the next step as a note."""

    examples: tuple[str, ...] = ()  # whole command lines

    def format_help(self, ctx: Any, formatter: Any) -> None:  # of the click that typer brings along, here and below
        """The page, then the examples, a line each, never wrapped: they are there to be copied."""
        formatter.write(laid_out(self, ctx))
        if self.examples:
            formatter.write(" Examples\n\n" + "".join(f"   {line}\n" for line in self.examples))
        formatter.write("\n `tamis help exit-codes` says what exit codes mean.\n")

    def invoke(self, ctx: Any) -> Any:
        """As always; an error learns which command it ended."""
        try:
            return super().invoke(ctx)
        except TamisError as error:
            if (step := next_step(error, path_of(ctx))) is not None:
                error.add_note(step)
            raise


class ByTheme(TyperGroup):
    """Commands in the order of their themes."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Those of one theme as they are listed, then as they were declared; those without one at the end."""
        order: list[str | None] = [*Theme]
        listed = [row.name for row in COMMANDS]

        def place(name: str) -> tuple[int, int]:
            theme = getattr(self.commands[name], "rich_help_panel", None)
            return _place(order, theme), _place(listed, name)

        return sorted(self.commands, key=place)


class Commands(typer.Typer):
    """A group of documented commands."""

    def command(
        self, name: str | None = None, *, examples: Sequence[str] = (), theme: Theme | None = None, **options: Any
    ) -> Callable[[Function], Function]:
        """As Typer's, with whole command lines that show what the command is for; a group's has its group's theme."""
        return super().command(name, cls=_with(tuple(examples)), rich_help_panel=theme, **options)


def path_of(ctx: Any) -> str:
    """The names by which a command was called, without the program's: `review run`."""
    names: list[str] = []
    while ctx.parent is not None:
        names.insert(0, str(ctx.info_name))
        ctx = ctx.parent
    return " ".join(names)


@dataclass(frozen=True)
class Page:
    """One command, with the names by which it is called."""

    path: str
    command: Any  # Typer's, of the click that it brings along

    @property
    def options(self) -> tuple[str, ...]:
        """Every option by each of its names."""
        return tuple(name for param in self.command.params for name in param.opts if name.startswith("-"))

    @property
    def examples(self) -> tuple[str, ...]:
        """Whole command lines."""
        return self.command.examples if isinstance(self.command, Documented) else ()

    def told(self) -> dict[str, Any]:
        """For programs."""
        said = " ".join((self.command.help or "").split())
        return {"command": self.path, "help": said, "options": self.options, "examples": self.examples}


def pages(command: Any, path: str = "") -> Iterator[Page]:
    """The command, or all commands of a group, at any depth and in the group's order."""
    if not isinstance(command, TyperGroup):
        yield Page(path, command)
        return
    for name, inner in command.commands.items():
        yield from pages(inner, f"{path} {name}".strip())


def _place(order: Sequence[str | None], one: str | None) -> int:
    """Its place, or the one behind the last."""
    return order.index(one) if one in order else len(order)


def _with(shown: tuple[str, ...]) -> type[Documented]:
    """A class, because that is what Typer makes commands of."""

    class WithExamples(Documented):
        examples = shown

    return WithExamples
