"""The words of a command, held to the command line without calling anything."""

from typing import Any

from typer.core import TyperGroup


def parse(command: Any, words: list[str]) -> str:
    """The path of the command that takes these words; a wrong option or value raises, and nothing is called."""
    path: list[str] = []
    ctx: Any = None
    name: str | None = "tamis"
    while isinstance(command, TyperGroup):
        ctx = command.make_context(name, words, parent=ctx)
        name, command, words = command.resolve_command(ctx, [*ctx._protected_args, *ctx.args])
        path.append(str(name))
    command.make_context(name, words, parent=ctx)
    return " ".join(path)
