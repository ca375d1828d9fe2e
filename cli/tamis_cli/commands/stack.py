"""The commands `tamis up`, `tamis demo` and `tamis flower`: the embedded stack, a demonstration, and Flower."""

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
            help="local: the small embedded model; remote: the LLM in your environment; auto: remote if one is set."
        ),
    ] = "auto",
    flower: Annotated[bool, typer.Option(help="Run Flower, the monitor of the queue.")] = True,
    page: Annotated[bool, typer.Option(help="Run the HTTP gateway with its web page.")] = True,
) -> None:
    """Run the stack in the foreground: Postgres, Redis, workers, page, and a small LLM if you set none."""
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
            help="recorded: answers written by hand, no model is asked; small: the small embedded model; own: the LLM "
            "in your environment."
        ),
    ] = "recorded",
    report: Annotated[Path | None, typer.Option(help="Write the report of the screening to this HTML file.")] = None,
) -> None:
    """Screen 24 fictional citations in a temporary folder. Recorded answers: no key, model or server is needed."""
    with out.status("loading"), needs("demo"):
        from .demo import demo as run_demo
    raise typer.Exit(run_demo(out, model=model, report=report))


@app.command(examples=("tamis flower", "tamis flower --port 5556"))
def flower(
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = FLOWER_PORT,
) -> None:
    """Run Flower, the monitor of the queue: read-only, with a password, and with its history in TAMIS_HOME."""
    with needs("worker"):
        import flower as _  # noqa: F401 - gives a clear error if Flower is not installed
    from tamis_worker.config.settings import WorkerSettings

    become_flower(WorkerSettings.load(), port=port)
