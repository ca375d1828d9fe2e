"""The commands `tamis worker`, which runs a worker process, and `tamis health`, which probes it."""

from pathlib import Path
from typing import Annotated

import typer

from tamis_schemas.extras import needs
from tamis_worker.liveness.watchdog import FRESH, health_at

from .app import EXIT_FAILED, EXIT_OK, RUNS_A_WORKER, app, out
from .json_document import AsJson, print_json


@app.command(RUNS_A_WORKER, examples=("tamis worker", "tamis worker --alive-file /tmp/alive"))
def worker(
    ready_file: Annotated[Path | None, typer.Option(help="A file created when it is ready, for supervisors.")] = None,
    alive_file: Annotated[
        Path | None, typer.Option(help="A file written every few seconds while it works, for `tamis health`.")
    ] = None,
    log_level: Annotated[str, typer.Option(help="DEBUG, INFO, WARNING or ERROR.")] = "INFO",
) -> None:
    """Run one worker process, with the servers and the LLM set in your environment."""
    with needs("worker"):
        from tamis_worker.process.run import run
    from tamis_worker.config.settings import WorkerSettings

    settings = WorkerSettings.load()
    raise typer.Exit(run(settings, ready_file=ready_file, alive_file=alive_file, log_level=log_level.upper()))


@app.command(examples=("tamis health /tmp/alive", "tamis health /tmp/alive --within 60"))
def health(
    alive_file: Annotated[Path, typer.Argument(metavar="FILE", help="The --alive-file of a worker on this machine.")],
    within: Annotated[float, typer.Option(min=1, help="The most seconds since the last write.")] = FRESH,
    as_json: AsJson = False,
) -> None:
    """Check whether a worker on this machine works, for probes: exit code 0 if it does, 1 if not."""
    state = health_at(alive_file, within=within)
    if as_json:
        print_json(state)
    else:
        out.say(state.line, markup=False)
    raise typer.Exit(EXIT_OK if state.well else EXIT_FAILED)
