"""`tamis up`, `tamis demo` and `tamis flower`: the embedded stack, and programs on it."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tamis_schemas.extras import needs

from ..embedded.flower_options import FLOWER_PORT, become_flower
from .app import app, out


@app.command(examples=("tamis up", "tamis up --workers 4 --llm remote"))
def up(
    workers: Annotated[int, typer.Option(min=1, max=64, help="Worker processes.")] = 2,
    llm: Annotated[
        Literal["auto", "local", "remote"],
        typer.Option(
            help="local: the small embedded model; remote: the one the environment names; auto: remote if named."
        ),
    ] = "auto",
    flower: Annotated[bool, typer.Option(help="Run Flower, the window on the queue.")] = True,
    page: Annotated[bool, typer.Option(help="Run the HTTP gateway, with its page for browsers.")] = True,
) -> None:
    """Run the whole stack here, in the foreground: Postgres, Redis, workers, page, and an LLM if none is named."""
    with needs("stack"):
        from ..embedded.commands import up as run_stack
    from tamis_worker.config.settings import WorkerSettings

    settings = WorkerSettings.load()
    raise typer.Exit(run_stack(settings, workers=workers, llm=llm, flower=flower, page=page, console=out))


@app.command(examples=("tamis demo --report demo.html",))
def demo(
    model: Annotated[
        Literal["recorded", "small", "own"],
        typer.Option(
            help="recorded: answers written by hand, no model is asked; small: the small embedded model; own: the one "
            "the environment names."
        ),
    ] = "recorded",
    report: Annotated[Path | None, typer.Option(help="Keep the report of the screening as this HTML file.")] = None,
) -> None:
    """Screen 24 fictional citations in a temporary folder, with recorded answers: needs no key, model or server."""
    with out.status("loading"), needs("demo"):
        from .demo import demo as run_demo
    raise typer.Exit(run_demo(out, model=model, report=report))


@app.command(examples=("tamis flower", "tamis flower --port 5556"))
def flower(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where it listens.")] = FLOWER_PORT,
) -> None:
    """Run Flower, the window on the queue: read-only, behind a password, its history kept in TAMIS_HOME."""
    with needs("worker"):
        import flower as _  # noqa: F401 - the process becomes it, and would say less clearly that it is missing
    from tamis_worker.config.settings import WorkerSettings

    become_flower(WorkerSettings.load(), port=port)
