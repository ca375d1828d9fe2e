"""`tamis doctor`: what Tamis needs, looked at, with the remedy for each thing that is wrong."""

import logging
from typing import Annotated

import typer

from ..config.settings import WorkerSettings
from .app import app, out
from .exit_codes import EXIT_FAILED, EXIT_OK
from .json_document import AsJson, print_json

LEARNING = "tamis_worker.llm"  # logs what it finds out of the endpoint


@app.command(examples=("tamis doctor", "tamis doctor --endpoint", "tamis doctor --no-call --json"))
def doctor(
    as_json: AsJson = False,
    endpoint: Annotated[
        bool, typer.Option("--endpoint", help="Look at the LLM alone, which needs no servers and no stack.")
    ] = False,
    call: Annotated[
        bool, typer.Option("--call/--no-call", help="Ask the model one question of each operation; they are paid for.")
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
    settings = WorkerSettings.load()
    if as_json:
        findings = list(examine(settings, call=call, endpoint_only=endpoint))
        print_json(findings)
        raise typer.Exit(EXIT_FAILED if any(finding.level is Level.FAILURE for finding in findings) else EXIT_OK)
    with out.status("looking") as doing:
        well = show(examine(settings, call=call, endpoint_only=endpoint, tell=doing.update), out)
    raise typer.Exit(EXIT_OK if well else EXIT_FAILED)
