"""`tamis screen` and `tamis filter`: read a file, submit it as a batch, watch it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tamis_schemas import Filter, Inclusion, Operation

from ..batch import Batch
from ..client import Client
from ..criteria_file import read_criteria
from ..intake import read_records
from .app import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, app, out
from .progress import watch
from .render import print_summary

File = Annotated[Path, typer.Argument(help="Records: RIS, CSV/TSV or JSONL.", show_default=False)]
Detach = Annotated[bool, typer.Option("--detach", help="Print the batch's id and return at once.")]
Model = Annotated[str | None, typer.Option(help="The model to ask.  [dim]default: the workers' own[/]")]
Key = Annotated[
    str | None,
    typer.Option("--idempotency-key", help="Submitting the same key again returns the first batch."),
]


@app.command()
def screen(
    file: File,
    criteria: Annotated[Path, typer.Option(help="The review's criteria, YAML or JSON.", show_default=False)],
    model: Model = None,
    idempotency_key: Key = None,
    detach: Detach = False,
) -> None:
    """Screen records against a review's criteria: include, exclude or uncertain, with reasons."""
    operation = Inclusion(criteria=read_criteria(criteria))
    _submit(operation, read_records(file), file.name, model, idempotency_key, detach)


@app.command(name="filter")
def filter_(
    file: File,
    criteria: Annotated[str, typer.Option(help="The question, for example 'Is this about oncology?'")],
    reasoning: Annotated[bool, typer.Option(help="Ask for an explanation with every answer.")] = True,
    model: Model = None,
    idempotency_key: Key = None,
    detach: Detach = False,
) -> None:
    """Ask one yes/no question of every record."""
    if not criteria.strip():
        raise typer.BadParameter("it is blank: what should the records be asked?", param_hint="--criteria")
    operation = Filter(criteria=criteria, include_reasoning=reasoning)
    _submit(operation, read_records(file), file.name, model, idempotency_key, detach)


def follow(batch: Batch) -> int:
    """Watch a batch to its end, print its summary, and return the exit code that says how it went."""
    try:
        counts = watch(batch, out).counts
    except KeyboardInterrupt:
        out.print(f"\nDetached; the batch goes on. Watch it with [bold]tamis status {batch.id} --watch[/]")
        return EXIT_INTERRUPTED
    summary = batch.summary()
    if summary is not None:
        print_summary(summary, out)
    out.print(f"[dim]tamis results {batch.id}[/] writes every decision with its reasons.", highlight=False)
    return EXIT_OK if counts.failed == 0 and counts.cancelled == 0 else EXIT_FAILED


def _submit(
    operation: Operation,
    records: list[dict[str, Any]],
    label: str,
    model: str | None,
    idempotency_key: str | None,
    detach: bool,
) -> None:
    with Client() as client:
        batch = client.submit(operation, records, model=model, idempotency_key=idempotency_key, label=label)
        if detach:
            typer.echo(batch.id)
            return
        out.print(f"batch [bold]{batch.id}[/]: {len(records)} records from {label}", highlight=False)
        code = follow(batch)
    raise typer.Exit(code)
