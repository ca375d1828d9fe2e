"""The layout of a command's page, as `man` has it: every name whole and on a line of its own, its text below it."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from .console import PlainConsole

WIDEST = 100  # characters of a line that is read with ease
NAMES, TEXT = 3, 7  # columns from the left


def laid_out(command: Any, ctx: Any) -> str:
    """Usage, what it does, arguments and options; `ctx` and `command` are of the click that typer brings along."""
    console = PlainConsole()
    console.width = min(console.width, WIDEST)
    params = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    with console.capture() as page:
        console.print(f"\n{escape(command.get_usage(ctx))}", style="bold", highlight=False)
        for paragraph in (command.help or "").split("\n\n"):
            _below(console, " ".join(paragraph.split()), 1)
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            shown = [param for param in params if param.param_type_name == kind]
            if shown:
                console.print(f"\n [bold]{title}[/]")
            for param in shown:
                names, text = param.get_help_record(ctx)
                said = param.help or ""
                facts = text.removeprefix(said).strip()  # its default, its range, whether it is required
                console.print(Padding(f"[cyan]{escape(names)}[/]", (0, 0, 0, NAMES)), highlight=False)
                _below(console, f"{said}  [dim]{escape(facts)}[/]" if facts else said, TEXT, space=0)
        console.print()
    return "".join(f"{line.rstrip()}\n" for line in page.get().splitlines())


def _below(console: Console, text: str, left: int, *, space: int = 1) -> None:
    if text:
        console.print(Padding(text, (space, 0, 0, left)), highlight=False)
