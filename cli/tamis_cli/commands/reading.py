"""`tamis next` and `tamis stop`: the next records for a person, and when people may stop reading."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer import Batch
from tamis_producer.results.results_file import replacing
from tamis_review.decisions.sheets import write_reading_sheet, write_stop_sample
from tamis_review.order.exploration import EXPLORE
from tamis_review.order.next_records import MOST, USUAL
from tamis_review.overrides import read_visible
from tamis_review.reading import close_stop_sample, draw_stop_sample, may_stop, next_records, order_refits
from tamis_schemas import InvalidRequest, NextRecords, ReadingBy, StopAnswer, StopPrice, StopSample, StopVerdict
from tamis_schemas.records.record_number import record_number, record_words

from .app import app, err, out
from .arguments import BatchId, is_new, to_file
from .connected import connected
from .json_document import AsJson, print_json
from .opened import batch_of, opened
from .tables import counted, facts_by_name, listing, short

TITLE_WIDTH = 40  # characters, in a terminal of 100 columns


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
            help="For people who read in pairs: records without a decision by NAME.  [default: records without any "
            "decision]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed and decisions give the same order.")] = 0,
    explore: Annotated[float, typer.Option(min=0, max=1, help="The share of records drawn at random.")] = EXPLORE,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Wait until the order includes every decision, even for a large batch.")
    ] = False,
    by: Annotated[
        ReadingBy, typer.Option(help="disagreement: first the records on which the models of a panel differ.")
    ] = ReadingBy.ORDER,
    output: Annotated[Path | None, to_file("Write them as a table to fill in, for `tamis override --file`.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the records to read next, best first: by the model's score, and by similarity to included records."""
    is_new(output, may_hold="decisions")
    with connected() as client:
        batch = batch_of(client, batch_id)
        answer = next_records(batch, n, reviewer=reviewer, seed=seed, explore=explore, fresh=fresh, by=by)
        if output is not None and answer.records:
            rows = read_visible(batch, [record.index for record in answer.records])
            with replacing(output) as stream:
                write_reading_sheet(answer, rows, stream)
        if as_json:
            print_json(answer.model_dump(mode="json") | {"written_to": output if answer.records else None})
        else:
            _print_records(answer, output)
        if not answer.current:
            err.say("Updating the order for the next call; Ctrl-C skips this.")
            order_refits(client).wait()


def _print_records(answer: NextRecords, output: Path | None) -> None:
    if answer.records and output is None:
        table = listing("No.", "id", "title", "why", numbers=("score",))
        table.columns[0].justify = "right"
        table.columns[2].max_width, table.columns[2].no_wrap = TITLE_WIDTH, True
        for record in answer.records:
            cells = (escape(record.item_id), escape(record.title), escape(record.why))
            score = "" if record.score is None else f"{record.score:.2f}"
            table.add_row(str(record_number(record.index)), *cells, score)
        out.print(table)
    elif answer.records:
        out.say(f"{counted(len(answer.records), 'record')} written to {escape(str(output))}, in reading order.")
        out.say(
            "Fill in the column decision with include or exclude, and reviewer with your name, then: "
            f"[bold]tamis override {answer.batch_id} --file {escape(str(output))}[/]"
        )
    conflicts = f", {answer.conflicts:,} in conflict (`tamis conflicts` lists them)" if answer.conflicts else ""
    out.say(
        f"{counted(answer.unread, 'record')} left to read; {answer.decided:,} decided, {answer.included:,} of them "
        f"included{conflicts}.",
        markup=False,
    )
    out.say(answer.meaning, markup=False)


@app.command(
    examples=(
        "tamis stop 3f2a91c0 --recall 0.95 --confidence 0.95",
        "tamis stop 3f2a91c0 --draw --seed 1 -o sample.csv",
        "tamis stop 3f2a91c0 --close",
    ),
)
def stop(
    batch_id: BatchId,
    recall: Annotated[
        float | None,
        typer.Option(help="The share of all includes to be found.  [default: that of the open sample, or 0.95]"),
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="The confidence of the promise.  [default: that of the open sample, or 0.95]")
    ] = None,
    draw: Annotated[
        bool, typer.Option("--draw", help="Draw the unread records that the promise needs, or those still missing.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The same seed draws the same sample.  [default: a new one]")
    ] = None,
    audit: Annotated[
        str | None,
        typer.Option(metavar="AUDIT", help="Start a new sample with this audit, if it covers all unread records."),
    ] = None,
    output: Annotated[Path | None, to_file("Write the records to read as a table to fill in.")] = None,
    close: Annotated[
        bool, typer.Option("--close", help="End the sample, and read in order again. The next sample is a new attempt.")
    ] = False,
    human_errors: Annotated[
        bool, typer.Option(help="Allow for includes that people overlook, if two people read the same records.")
    ] = True,
) -> Iterator[object]:
    """Show whether you may stop reading with a promised recall, and how many records each promise costs."""
    if close and (draw or output is not None):
        raise InvalidRequest("--close cannot be combined with --draw or --output")
    if not draw and (seed is not None or audit is not None):
        raise InvalidRequest("--seed and --audit need --draw")
    is_new(output, may_hold="decisions")
    with opened(batch_id) as batch:
        if close:
            answer = close_stop_sample(batch)
        elif draw:
            answer = draw_stop_sample(batch, recall, confidence, seed=seed, audit=audit, human_errors=human_errors)
        else:
            answer = may_stop(batch, recall, confidence, human_errors=human_errors)
        if output is not None:
            _write(batch, answer.sample, output)
    yield answer.model_dump(mode="json") | {"written_to": output}
    _print_answer(answer)
    if output is not None:
        err.say(
            f"Fill in the column decision of {escape(str(output))} with include or exclude, from the top, then: "
            f"[bold]tamis override {short(batch.id)} --file {escape(str(output))} --reviewer NAME[/]"
        )


def _write(batch: Batch, sample: StopSample | None, path: Path) -> None:
    if sample is None:
        raise InvalidRequest(f"no sample is open, so there is nothing to write to {path}: add --draw")
    rows = read_visible(batch, [record.index for record in sample.waiting])
    with replacing(path) as stream:
        write_stop_sample(sample, rows, stream)


def _print_answer(answer: StopAnswer) -> None:
    colour = {StopVerdict.ENOUGH: "green", StopVerdict.IMPOSSIBLE: "red"}.get(answer.verdict, "yellow")
    out.say(f"[bold {colour}]{escape(answer.headline)}[/]")
    figures = ((figure.name, f"{escape(figure.value)}\n[dim]{escape(figure.meaning)}[/]") for figure in answer.figures)
    out.print(facts_by_name(figures))
    if answer.verdict is StopVerdict.NOT_YET:
        _print_waiting(answer)
    _print_prices(answer)
    if answer.methods is not None:
        out.say("For your methods section:")
        out.say(answer.methods, markup=False)


def _print_waiting(answer: StopAnswer) -> None:
    """Print the records of the sample to read next. If the promise needs more, print the command that draws them."""
    draw = f"[bold]tamis stop {short(answer.batch_id)} --draw -o FILE[/]"
    waiting = () if answer.sample is None else answer.sample.waiting
    if waiting:
        first = ", ".join(escape(record_words(record.index, record.item_id)) for record in waiting[:5])
        more = f" and {len(waiting) - 5:,} more" if len(waiting) > 5 else ""
        out.say(f"To read next, in this order: {first}{more}. -o FILE writes them as a table.")
    if answer.sample is None:
        out.say(f"{draw} draws the sample, and writes it as a table to fill in.")
    elif answer.needed[0] > len(waiting):
        out.say(f"{draw} draws the {answer.needed[0] - len(waiting):,} more that the promise needs now.")


def _print_prices(answer: StopAnswer) -> None:
    if not answer.unread:
        return
    by_confidence = sorted({price.confidence for price in answer.prices})
    of = {(price.recall, price.confidence): price for price in answer.prices}
    table = listing("recall", numbers=tuple(f"{confidence:.0%} sure" for confidence in by_confidence))
    for recall in sorted({price.recall for price in answer.prices}):
        table.add_row(f"{recall:.0%}", *(_price(of[recall, confidence]) for confidence in by_confidence))
    out.say(
        "Records of the sample still to read for each promise, if none of them is an include. In brackets: with the "
        "includes expected now."
    )
    out.print(table)


def _price(price: StopPrice) -> str:
    if price.none_found is None:
        return "impossible"
    if price.none_found == 0:
        return "reached"
    more = price.as_expected
    return f"{price.none_found:,}" + (f" ({more:,})" if more is not None and more != price.none_found else "")
