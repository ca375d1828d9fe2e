"""`tamis doctor`: checks everything that Tamis needs, and shows a remedy for each fault."""

import logging
from collections import Counter
from collections.abc import Iterable
from typing import Annotated

import typer
from rich.markup import escape
from rich.padding import Padding

from tamis_worker.config.settings import WorkerSettings

from ..doctor.finding import Finding, Level
from .app import EXIT_FAILED, EXIT_OK, app, out
from .json_document import AsJson, print_json
from .tables import counted

LEARNING = "tamis_worker.llm"  # logs discoveries about the endpoint
MARKS = {Level.OK: "[green]ok[/]     ", Level.WARNING: "[yellow]warning[/]", Level.FAILURE: "[red]failure[/]"}
SUBJECT_WIDTH = 12


@app.command(examples=("tamis doctor", "tamis doctor --endpoint", "tamis doctor --no-call --json"))
def doctor(
    as_json: AsJson = False,
    endpoint: Annotated[bool, typer.Option("--endpoint", help="Check only the LLM. Needs no servers.")] = False,
    call: Annotated[
        bool, typer.Option("--call/--no-call", help="Ask the model one question of each operation, at the usual price.")
    ] = True,
) -> None:
    """Check servers, tables, LLM, clocks and workers, and show a remedy for each fault.

    The model gets seven short questions about a made-up record, and their cost is shown. The questions cost about a
    fifth of a cent at $0.25 (prompts) and $2 (answers) per million tokens. Exit code 0 without failures, else 1.
    """
    from ..doctor.examination import examine

    logging.getLogger(LEARNING).setLevel(logging.ERROR)  # such discoveries are among the findings
    settings = WorkerSettings.load()
    if as_json:
        findings = list(examine(settings, call=call, endpoint_only=endpoint))
        print_json(findings)
        raise typer.Exit(EXIT_FAILED if any(finding.level is Level.FAILURE for finding in findings) else EXIT_OK)
    with out.status("checking") as doing:
        well = _show(examine(settings, call=call, endpoint_only=endpoint, tell=doing.update))
    raise typer.Exit(EXIT_OK if well else EXIT_FAILED)


def _show(findings: Iterable[Finding]) -> bool:
    """Print each finding as soon as it is known. Return True if no finding is a failure."""
    levels: Counter[Level] = Counter()
    last = None
    for finding in findings:
        levels[finding.level] += 1
        subject = "" if finding.subject == last else finding.subject
        last = finding.subject
        out.say(f"{MARKS[finding.level]}  [bold]{subject:<{SUBJECT_WIDTH}}[/]{escape(finding.what)}")
        if finding.mend is not None:
            out.print(Padding(f"-> {escape(finding.mend)}", (0, 0, 0, 9 + SUBJECT_WIDTH), expand=False))
    failures, warnings = counted(levels[Level.FAILURE], "failure"), counted(levels[Level.WARNING], "warning")
    out.print(f"\n{failures}, {warnings}, {levels[Level.OK]} ok")
    return not levels[Level.FAILURE]
