"""`tamis override`, `tamis overrides` and `tamis agreement`: what people decide beside the software."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer.client.batch import Batch
from tamis_producer.client.client import Client
from tamis_producer.client.review import Review
from tamis_producer.decisions.human_agreement import DRAWN, SELECTED, two_places
from tamis_producer.decisions.override_file import find_record, read_decisions
from tamis_producer.decisions.record_overrides import HumanDecision, RefusedDecision
from tamis_producer.quality import Agreement
from tamis_schemas import InputError, InvalidParameters, InvalidRequest, Override
from tamis_schemas.batches.wire import SHORT_ID

from .app import app, out
from .arguments import BatchId, Record
from .json_document import AsJson, AsJsonLines, print_json, print_json_lines
from .tables import listing

Reviewer = Annotated[str | None, typer.Option(help="Who decides.", envvar="TAMIS_REVIEWER", metavar="NAME")]
NOT_FOLLOWING = (
    "The next stage of its review has begun: what is included now does not follow into it, and what is excluded now "
    "stays in it."
)


@app.command(
    examples=(
        'tamis override 3f2a91c0 12 include --reviewer "Reviewer A" --note "Randomised, see page 3"',
        "tamis override 3f2a91c0 --file decisions.csv",
        "tamis override 3f2a91c0 12 --withdraw",
    ),
)
def override(
    batch_id: BatchId,
    record: Annotated[str | None, Record] = None,
    decision: Annotated[
        str | None,
        typer.Argument(
            metavar="DECISION",
            help="include or exclude; of other operations what they give: a number, a text, fields as JSON.",
        ),
    ] = None,
    reviewer: Reviewer = None,
    note: Annotated[str | None, typer.Option(help="Why.")] = None,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take back what was decided about the record.")] = False,
    file: Annotated[
        Path | None,
        typer.Option(
            help="A table of decisions instead: columns index or id, decision, note, reviewer. All of it, or nothing."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide about a record yourself. The model's result stays, beside yours; reports and exports follow yours."""
    if file is not None:
        if record is not None or withdraw or note is not None:
            raise InvalidRequest(
                "--file holds records, decisions and notes: give neither RECORD nor --note or --withdraw"
            )
    elif record is None or (decision is None) is not withdraw:
        raise InvalidRequest("say a record and a decision, or a record and --withdraw, or --file TABLE")
    with Client() as client:
        batch = batch_of(client, batch_id)
        done = _from_file(batch, file, reviewer, quiet=as_json) if file else None
        if record is not None:
            index = find_record(record, batch.item_ids())
            if not (reviewer or "").strip():
                raise InvalidParameters("who decided? say --reviewer NAME, or set TAMIS_REVIEWER")
            value = None if decision is None else batch.operation().value_of_text(decision)
            done = batch.decide([HumanDecision(index, value, reviewer or "", note, withdraw=withdraw)])
        later = batch.later_stage()
        titles = {
            row.index: str(row.item.get("title") or "") for row in batch.results([one.index for one in done or ()])
        }
    if as_json:
        print_json({"decisions": done or [], "later_stage_has_begun": later})
        return
    for one in done or ():
        out.say(_line(one, titles.get(one.index, "")))
    if later and done:
        out.say(NOT_FOLLOWING)


@app.command(examples=("tamis overrides 3f2a91c0", "tamis overrides 3f2a91c0 --history --json"))
def overrides(
    batch_id: BatchId,
    history: Annotated[bool, typer.Option("--history", help="Every decision ever made, withdrawals too.")] = False,
    as_json: AsJsonLines = False,
) -> None:
    """List what people decided about a batch's records."""
    with Client() as client:
        batch = batch_of(client, batch_id)
        decisions = batch.overrides(history=history)
    if as_json:
        print_json_lines(decisions)
        return
    if not decisions:
        out.say(f"batch {batch.id}: no human has decided about a record. `tamis override` does.")
        return
    table = listing("index", "id", "human", "software", "reviewer", "when", "note")
    table.columns[0].justify = "right"
    for one in decisions:
        human = "[dim]withdrawn[/]" if one.withdrawn else escape(_words(one.value))
        software = escape(_words(one.system_value)) if one.system_decided else "[dim]not decided[/]"
        cells = (escape(one.reviewer), f"{one.created_at:%Y-%m-%d %H:%M}", escape(one.note or ""))
        table.add_row(str(one.index), escape(one.item_id), human, software, *cells)
    out.print(table)


@app.command(examples=("tamis agreement 3f2a91c0",))
def agreement(
    batch_id: BatchId,
    as_json: AsJson = False,
) -> None:
    """Say how far the software agrees with the people who decided about the same records: kappa and AC1."""
    with Client() as client:
        batch = batch_of(client, batch_id)
        figures = batch.agreement()
    if as_json:
        print_json({"id": batch.id, **figures.model_dump(mode="json")})
        return
    if not figures.together.n and not figures.undecided:
        out.say(f"batch {batch.id}: no human has decided about a record. `tamis override` does, and `tamis audit`.")
        return
    table = listing("records", numbers=("n", "agree", "Cohen's kappa", "Gwet's AC1"))
    rows = (("overridden or confirmed", figures.overrides), ("audited exclusions", figures.audits))
    for name, one in (*rows, ("together", figures.together)):
        table.add_row(name, *_figures(one))
    out.print(table)
    for name, one in (*rows, ("together", figures.together)):
        if one.n and one.no_kappa is not None:
            out.say(f"[dim]no kappa of {name}: {escape(one.no_kappa)}[/]")
    if figures.undecided:
        out.say(
            f"{figures.undecided:,} left out: the software had not decided about them (uncertain, failed, cancelled, "
            "or a copy)."
        )
    for text in (SELECTED,) * bool(figures.overrides.n) + (DRAWN,) * bool(figures.audits.n):
        out.say(text)


def batch_of(client: Client, of: str) -> Batch:
    """The batch of an id; of a review's, an error that names the batches of its stages."""
    subject = client.batch_or_review(of)
    if isinstance(subject, Review):
        stages = ", ".join(f"{view.id[:SHORT_ID]} ({view.operation})" for view in subject.status().stages)
        raise InvalidRequest(f"{of} is a review: name the batch of one of its stages, which are {stages}")
    return subject


def _from_file(batch: Batch, file: Path, reviewer: str | None, *, quiet: bool) -> list[Override]:
    table = read_decisions(file, batch.operation(), batch.item_ids(), reviewer=reviewer)
    if not table.decisions:
        raise InputError("the column 'decision' is empty in every row: nothing is decided", path=file)
    try:
        done = batch.decide(table.decisions)
    except RefusedDecision as refused:
        raise InputError(str(refused), path=file, line=table.lines[refused.number]) from refused
    if table.blank and not quiet:
        out.print(f"{table.blank:,} rows without a decision are left as they are.")
    return done


def _line(one: Override, title: str) -> str:
    name = f"{one.index} ({escape(one.item_id)})" + (f" {escape(title)}" if title else "")
    if one.withdrawn:
        software = f"the software's decision counts again: {escape(_words(one.system_value))}"
        return f"{name}: withdrawn by {escape(one.reviewer)}; " + (
            software if one.system_decided else "it is not decided"
        )
    text = f"{name}: [bold]{escape(_words(one.value))}[/] by {escape(one.reviewer)}"
    if not one.system_decided:
        return f"{text}; the software had not decided"
    return f"{text}; the software says {'so too' if one.confirms else escape(_words(one.system_value))}"


def _words(value: object) -> str:
    if value is None:
        return "not present"
    if isinstance(value, bool):
        return "include (true)" if value else "exclude (false)"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _figures(one: Agreement) -> tuple[str, str, str, str]:
    def ranged(value: float | None, low: float | None, high: float | None) -> str:
        if value is None or low is None or high is None:
            return "–"
        return f"{two_places(value)} ({two_places(low)} to {two_places(high)})"

    agree = "–" if one.observed is None else f"{one.observed:.1%}"
    kappa = ranged(one.kappa, one.kappa_low, one.kappa_high)
    return f"{one.n:,}", agree, kappa, ranged(one.ac1, one.ac1_low, one.ac1_high)
