"""`tamis next`: the records that a person should read next, each with the reason for its place."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer.client.client import Client
from tamis_producer.results.results_file import replacing
from tamis_review.decisions.sheets import write_reading_sheet
from tamis_review.order.exploration import EXPLORE
from tamis_review.order.next_records import MOST, USUAL
from tamis_review.reading import next_records, order_refits
from tamis_schemas import NextRecords, ReadingBy
from tamis_schemas.records.record_number import record_number

from .app import app, err, out
from .arguments import BatchId, is_new, to_file
from .json_document import AsJson, print_json
from .opened import batch_of
from .tables import listing

TITLE_WIDTH = 40  # of a hundred columns


@app.command(
    "next",
    examples=(
        "tamis next 3f2a91c0",
        'tamis next 3f2a91c0 --n 50 --reviewer "Reviewer A" -o read.csv',
        "tamis next 3f2a91c0 --seed 7 --explore 0.1 --fresh --json",
    ),
)
def next_(
    batch_id: BatchId,
    n: Annotated[int, typer.Option("--n", "-n", min=1, max=MOST, help="How many records.")] = USUAL,
    reviewer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Who reads, where people read in pairs: records that NAME has not decided on, whoever else has.  "
            "[default: records that nobody has decided on]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed and decisions give the same order.")] = 0,
    explore: Annotated[
        float, typer.Option(min=0, max=1, help="The share of places that go to records drawn by chance.")
    ] = EXPLORE,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Wait until the order knows every decision, of a large batch too.")
    ] = False,
    by: Annotated[
        ReadingBy, typer.Option(help="disagreement: first the records on which the models of a panel differ.")
    ] = ReadingBy.ORDER,
    output: Annotated[
        Path | None, to_file("A sheet of them to decide in, as `tamis override --file` reads it back.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the records to read next, best first: by the model's score, and by texts like those included so far."""
    is_new(output, may_hold="decisions")
    with Client() as client:
        batch = batch_of(client, batch_id)
        answer = next_records(batch, n, reviewer=reviewer, seed=seed, explore=explore, fresh=fresh, by=by)
        if output is not None and answer.records:
            rows = batch.results([record.index for record in answer.records])
            with replacing(output) as stream:
                write_reading_sheet(answer, rows, stream)
        if as_json:
            written = output if answer.records else None
            print_json(answer.model_dump(mode="json") | {"written_to": written})
        else:
            _print(answer, output)
        if not answer.current:
            err.say("The order is being brought up to date for the next call; Ctrl-C leaves it as it is.")
            order_refits(client).wait()


def _print(answer: NextRecords, output: Path | None) -> None:
    if answer.records and output is None:
        table = listing("No.", "id", "title", "why", numbers=("score", "chance"))
        table.columns[0].justify = "right"
        table.columns[2].max_width, table.columns[2].no_wrap = TITLE_WIDTH, True
        for record in answer.records:
            cells = (escape(record.item_id), escape(record.title), escape(record.why))
            numbers = ("" if record.score is None else f"{record.score:.2f}", _percent(record.probability))
            table.add_row(str(record_number(record.index)), *cells, *numbers)
        out.print(table)
        if any(record.probability is not None for record in answer.records):
            out.say("Chance: of 100 records with a chance of 30%, people would include about 30.")
    elif answer.records:
        out.say(f"{len(answer.records):,} records to read written to {escape(str(output))}, the next one first.")
        out.say(
            "Fill in the column decision with include or exclude, and reviewer with who you are, then: "
            f"[bold]tamis override {answer.batch_id} --file {escape(str(output))}[/]"
        )
    conflicts = f", {answer.conflicts:,} in conflict (`tamis conflicts` lists them)" if answer.conflicts else ""
    out.say(
        f"{answer.unread:,} records left to read; {answer.decided:,} decided, {answer.included:,} of them "
        f"included{conflicts}.",
        markup=False,
    )
    out.say(answer.meaning, markup=False)


def _percent(probability: float | None) -> str:
    return "" if probability is None else "<1%" if probability < 0.005 else f"{probability:.0%}"
