"""`tamis help` and `tamis completion`: the manual with examples, and the completion of commands in a shell."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]  # imported there, not listed
from typer.core import TyperGroup

from tamis_schemas import InvalidRequest

from .app import COMPLETE_VARIABLE, EXIT_CODES, NAME, app, out
from .commands import pages, path_of

EXIT_CODES_TOPIC = "exit-codes"


@app.command("help", examples=("tamis help", "tamis help review run", "tamis help exit-codes"))
def help_(
    ctx: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="For example screen, or review run.")
    ] = None,
) -> Iterator[object]:
    """Show the help of a command with examples, or list all commands. `tamis help exit-codes` explains exit codes."""
    if command == [EXIT_CODES_TOPIC]:
        yield dict(EXIT_CODES)
        for code, meaning in EXIT_CODES.items():
            out.say(f"[bold]{code:>3}[/]  {meaning}")
        return
    page = _page(ctx, command or [])
    yield lambda: [entry.told() for entry in pages(page.command, path_of(page))]
    typer.echo(page.get_help())


@app.command(
    examples=(
        "tamis completion bash > ~/.local/share/bash-completion/completions/tamis",
        "tamis completion zsh > ~/.zfunc/_tamis",
        "tamis completion fish > ~/.config/fish/completions/tamis.fish",
    ),
)
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="Your shell.")],
) -> None:
    """Print a script that completes commands, options and choices in your shell. It changes no file."""
    script = get_completion_script(prog_name=NAME, complete_var=COMPLETE_VARIABLE, shell=shell)
    if shell == "zsh":  # at the first Tab, the script from `fpath` would only define the function; this line calls it
        script += f'\n[[ $zsh_eval_context[-1] == loadautofunc ]] && _{NAME}_completion "$@"'
    typer.echo(script)


def _page(ctx: typer.Context, names: list[str]) -> Any:
    page: Any = ctx.find_root()
    for name in names:
        group = page.command
        inner = group.get_command(page, name) if isinstance(group, TyperGroup) else None
        if inner is None:
            raise InvalidRequest(f"there is no command {' '.join(names)!r}: `tamis help` lists them all")
        page = typer.Context(inner, info_name=name, parent=page)
    return page
