"""The whole `tamis` command: what a producer can do, and what runs workers and the embedded stack.

What a command needs beyond a producer's parts is imported when it is called, so that the command line works with any
of the extras installed, and none waits for what it does not need.
"""

import gc
import logging
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tamis_producer.config.redaction import Redaction
from tamis_schemas import ConfigurationError
from tamis_schemas.extras import needs

from ..embedded.flower_options import USUAL_PORT, become_flower
from ..liveness.alive_file import FRESH, health_at
from ..telemetry.tracing import traced
from . import EXIT_FAILED, EXIT_OK, app, run
from .app import out
from .json_document import AsJson, print_json
from .theme import Theme
from .workers_part import install

if TYPE_CHECKING:
    from tamis_producer.runs.dry_run import Beginning, Planned, Rehearsal
    from tamis_schemas import Operation

    from ..config.settings import WorkerSettings

__all__ = ["app", "main"]

GARBAGE_AFTER = 20_000  # new objects; after the usual 700, a fifth of a start is searching modules for garbage
LEARNING = "tamis_worker.llm"  # logs what it finds out of the endpoint
RUNS_A_WORKER = "worker"  # the command that sets up traces itself, under its own name


def main() -> None:
    """Run the command line; what it submits begins a trace, where the environment asks for traces."""
    gc.set_threshold(GARBAGE_AFTER)
    if sys.argv[1:2] == [RUNS_A_WORKER]:
        return run()
    with traced("tamis", redact=Redaction.of_environment()):
        return run()


class LlmChoice(StrEnum):
    """Which LLM the embedded stack's workers ask."""

    AUTO = "auto"
    LOCAL = "local"
    REMOTE = "remote"


def _settings() -> "WorkerSettings":
    from ..config.settings import WorkerSettings

    return WorkerSettings.load()


def _rehearse(planned: "Planned") -> "Rehearsal":
    with needs("worker"):
        from ..dry_run.first_questions import rehearse
    return rehearse(planned, _settings())


def _beginning_of(operation: "Operation") -> "Beginning":
    with needs("worker"):
        from ..dry_run.prompt_beginning import beginning_of_all
    return beginning_of_all(operation)


install(_rehearse, _beginning_of)


@app.command(theme=Theme.RUN, examples=("tamis up", "tamis up --workers 4 --llm remote"))
def up(
    workers: Annotated[int, typer.Option(min=1, max=64, help="Worker processes.")] = 2,
    llm: Annotated[
        LlmChoice,
        typer.Option(
            help="local: the small embedded model; remote: the one the environment names; auto: remote if named."
        ),
    ] = LlmChoice.AUTO,
    flower: Annotated[bool, typer.Option(help="Run Flower, the window on the queue.")] = True,
    page: Annotated[bool, typer.Option(help="Run the HTTP gateway, with its page for browsers.")] = True,
) -> None:
    """Run the whole stack here, in the foreground: Postgres, Redis, workers, page, and an LLM if none is named."""
    with needs("local"):
        from ..embedded.commands import up as run_stack
    settings = _settings()
    raise typer.Exit(run_stack(settings, workers=workers, llm=llm.value, flower=flower, page=page, console=out))


@app.command(theme=Theme.RUN, examples=("tamis demo --report demo.html",))
def demo(
    report: Annotated[
        Path | None, typer.Option(help="Keep the report of the screening as this HTML file.", show_default=False)
    ] = None,
) -> None:
    """Screen 24 fictional citations with a small local model, in a temporary folder; needs no key and no server."""
    with needs("local"):
        from .demo import demo as run_demo
    raise typer.Exit(run_demo(out, report=report))


@app.command(theme=Theme.RUN, examples=("tamis worker", "tamis worker --alive-file /tmp/alive"))
def worker(
    ready_file: Annotated[
        Path | None, typer.Option(help="Created once the worker consumes; for supervisors.", show_default=False)
    ] = None,
    alive_file: Annotated[
        Path | None,
        typer.Option(help="Written every few seconds as long as it works; for `tamis health`.", show_default=False),
    ] = None,
    log_level: Annotated[str, typer.Option(help="DEBUG, INFO, WARNING or ERROR.")] = "INFO",
) -> None:
    """Run one worker process against the servers that the environment names."""
    with needs("worker"):
        from ..process.run import run
    settings = _settings()
    raise typer.Exit(run(settings, ready_file=ready_file, alive_file=alive_file, log_level=log_level.upper()))


@app.command(theme=Theme.RUN, examples=("tamis health /tmp/alive", "tamis health /tmp/alive --within 60"))
def health(
    alive_file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The --alive-file of a worker here.", show_default=False)
    ],
    within: Annotated[float, typer.Option(min=1, help="Seconds since it was last written, at most.")] = FRESH,
    as_json: AsJson = False,
) -> None:
    """Say whether a worker on this machine works, for probes: exit code 0 where it does, 1 where it does not."""
    found = health_at(alive_file, within=within)
    if as_json:
        print_json(found)
    else:
        out.print(found.line, highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(EXIT_OK if found.well else EXIT_FAILED)


@app.command(theme=Theme.RUN, examples=("tamis flower", "tamis flower --port 5556"))
def flower(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where it listens.")] = USUAL_PORT,
) -> None:
    """Run Flower, the window on the queue: read-only, behind a password, its history kept in TAMIS_HOME."""
    with needs("worker"):
        import flower as _  # noqa: F401 - the process becomes it, and would say less clearly that it is missing
    become_flower(_settings(), port=port)


@app.command(theme=Theme.RUN, examples=("tamis doctor", "tamis doctor --endpoint", "tamis doctor --no-call --json"))
def doctor(
    as_json: AsJson = False,
    endpoint: Annotated[
        bool, typer.Option("--endpoint", help="Look at the LLM alone, which needs no servers and no stack.")
    ] = False,
    call: Annotated[
        bool,
        typer.Option("--call/--no-call", help="Ask the model one question of each operation; they are paid for."),
    ] = True,
) -> None:
    """Examine servers, tables, LLM, clocks and workers, and say how to mend what is wrong.

    The model is asked seven short questions about a made-up record, and what they cost is told: with a model of $0.25
    and $2 per million tokens about a fifth of a cent. Exit code 0 without failures, 1 with one.
    """
    from ..doctor import examine
    from ..doctor.command import show
    from ..doctor.finding import Level

    logging.getLogger(LEARNING).setLevel(logging.ERROR)  # what is learned on the way is among the findings
    settings = _settings()
    if as_json:
        found = list(examine(settings, call=call, endpoint_only=endpoint))
        print_json(found)
        raise typer.Exit(EXIT_FAILED if any(one.level is Level.FAILURE for one in found) else EXIT_OK)
    with out.status("looking") as doing:
        well = show(examine(settings, call=call, endpoint_only=endpoint, tell=doing.update), out)
    raise typer.Exit(EXIT_OK if well else EXIT_FAILED)


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise ConfigurationError(f"{path}: the URL of a role cannot be read: {why}") from error


RoleFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="With the URL of their role, which is made and given the least rights.",
        show_default=False,
    ),
]


@app.command(
    theme=Theme.RUN, examples=("tamis migrate", "tamis migrate --worker-url worker_url --gateway-url gateway_url")
)
def migrate(worker_url: RoleFile = None, gateway_url: RoleFile = None, as_json: AsJson = False) -> None:
    """Create the ledger's tables, or bring them up to this release; then say who may do what with them."""
    from tamis_schemas.ledger.migrate import upgrade
    from tamis_schemas.ledger.revisions import head
    from tamis_schemas.ledger.rights import GATEWAY, WORKER, grant

    owner = _settings().database
    upgrade(owner)
    files = ((worker_url, WORKER), (gateway_url, GATEWAY))
    roles = [grant(owner, _text_of(path), rights) for path, rights in files if path is not None]
    if as_json:
        print_json({"revision": head(), "roles": roles})
        return
    out.print(f"the ledger is at revision {head()}", highlight=False)
    for role in roles:
        out.print(f"the role {role} has its rights", highlight=False, markup=False)
