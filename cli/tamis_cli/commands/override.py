"""`tamis override`, `overrides`, `conflicts` and `copies`: people's decisions, and contradictions between them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from tamis_producer import Batch
from tamis_review import decide, decide_copies, has_later_stage, list_conflicts, list_copies, list_overrides
from tamis_review.decisions.conflicts import Conflict
from tamis_review.decisions.record_overrides import HumanDecision, RefusedDecision
from tamis_review.decisions.sheets import find_record, read_decisions
from tamis_review.overrides import read_visible
from tamis_schemas import HumanStage, InputError, InvalidRequest, ItemResult, Operation, Override
from tamis_schemas.records.record_number import record_number, record_words

from .app import app, out
from .arguments import OWN_STAGE, BatchId, Record, Reviewer, Stage, named, stage_name, stage_named
from .opened import opened, seen
from .tables import counted, listing, short

Settles = Annotated[
    bool, typer.Option("--settle", "--settles", help="Settle a conflict: this decision counts over all others.")
]
UNDECIDED = ("not decided", "not decided, or hidden")  # for people who see all decisions, and for blind readers
NOT_FOLLOWING = (
    "The next stage of the review has begun. Records included now are not added to it, and records excluded now stay "
    "in it."
)


@app.command(
    examples=(
        'tamis override 3f2a91c0 12 include --reviewer "Reviewer A" --note "Randomised, see page 3"',
        'tamis override 3f2a91c0 12 exclude --reviewer "Reviewer C" --settle',
        'tamis override 3f2a91c0 12 exclude --stage full-text --reason "wrong age" --reviewer "Reviewer A"',
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
            help="include or exclude; for other operations a number, a text, or fields as JSON.",
        ),
    ] = None,
    reviewer: Reviewer = None,
    note: Annotated[str | None, typer.Option(help="A note on the decision.")] = None,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Withdraw your decision on the record.")] = False,
    settle: Settles = False,
    stage: Stage = OWN_STAGE,
    reason: Annotated[
        str | None,
        typer.Option(
            help="Why the report was not retrieved or was excluded, in a few words. Reports count equal reasons."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            help="A table of decisions: columns number, index (from 0) or id, decision, note, reviewer. An invalid row "
            "rejects the table."
        ),
    ] = None,
) -> Iterator[object]:
    """Record your own decision on a record. The model's result is kept; reports and exports use yours."""
    if file is not None:
        if record is not None or withdraw or note is not None or reason is not None:
            raise InvalidRequest(
                "--file contains records, decisions and notes: omit RECORD, --note, --reason and --withdraw"
            )
        if stage != OWN_STAGE:
            raise InvalidRequest("--file is only for title-abstract: use `tamis import-decisions` for other stages")
    elif record is None or (decision is None) is not withdraw:
        raise InvalidRequest("give a record and a decision, a record and --withdraw, or --file TABLE")
    with opened(batch_id) as batch:
        done, blank = _from_file(batch, file, reviewer, settle=settle) if file else ([], 0)
        if record is not None:
            index = find_record(record, batch.item_ids())
            who = named(reviewer, "who decided?")
            human_stage = stage_named(stage)
            value = None if decision is None else _value(batch.operation(), human_stage, decision)
            done = decide(batch, [HumanDecision(index, value, who, note, withdraw, human_stage, reason, settle)])
        later = has_later_stage(batch)
        rows = {row.index: row for row in read_visible(batch, {entry.index for entry in done})}
        conflicts = {(entry.index, entry.stage): entry for entry in list_conflicts(batch)}
    conflicting = sorted({entry.index for entry in done if (entry.index, entry.stage) in conflicts})
    yield {"decisions": done, "in_conflict": conflicting, "later_stage_has_begun": later}
    if blank:
        out.print(f"{counted(blank, 'row')} without a decision {'is' if blank == 1 else 'are'} skipped.")
    for entry in done:
        out.say(_line(batch, entry, rows[entry.index]))
        against = conflicts.get((entry.index, entry.stage))
        if against is not None:
            out.say(_contradicting(batch.id, entry, against))
    if later and done:
        out.say(NOT_FOLLOWING)


@app.command(examples=("tamis overrides 3f2a91c0", "tamis overrides 3f2a91c0 --history --json"), json_lines=True)
def overrides(
    batch_id: BatchId,
    history: Annotated[bool, typer.Option("--history", help="Also replaced and withdrawn decisions.")] = False,
) -> Iterator[object]:
    """List people's decisions on a batch's records."""
    with opened(batch_id) as batch:
        decisions = list_overrides(batch, history=history)
    yield decisions
    if not decisions:
        nothing = seen(batch, "no person has decided on a record", "you can see no decision of a person yet")
        out.say(f"batch {batch.id}: {nothing}. Use `tamis override`.")
        return
    table = listing("No.", "id", "stage", "human", "software", "reviewer", "when", "note")
    table.columns[0].justify = "right"
    for row in decisions:
        human = "[dim]withdrawn[/]" if row.withdrawn else escape(words_of(row.value))
        human += ", settles" * row.settles
        software = escape(words_of(row.system_value)) if row.system_decided else f"[dim]{seen(batch, *UNDECIDED)}[/]"
        why = "; ".join(text for text in (row.reason, row.note) if text)
        cells = (escape(row.reviewer), f"{row.created_at:%Y-%m-%d %H:%M}", escape(why))
        table.add_row(
            str(record_number(row.index)), escape(row.item_id), stage_name(row.stage), human, software, *cells
        )
    out.print(table)


@app.command(examples=("tamis conflicts 3f2a91c0", "tamis conflicts 3f2a91c0 --json"), json_lines=True)
def conflicts(batch_id: BatchId) -> Iterator[object]:
    """List the records with contradicting decisions: each reviewer's with its reason, and the model's."""
    with opened(batch_id) as batch:
        rows = list_conflicts(batch)
    yield rows
    if not rows:
        out.say(f"batch {batch.id}: {seen(batch, 'no record is in conflict', 'you can see no conflict yet')}.")
        return
    for conflict in rows:
        system = words_of(conflict.system_value) if conflict.system_decided else seen(batch, *UNDECIDED)
        system += ", a second reader who differs" * conflict.system_differs
        out.say(f"[bold]{escape(record_words(conflict.index, conflict.item_id))}[/] {escape(conflict.title or '')}")
        out.say(f"    {stage_name(conflict.stage)}; the software: {escape(system)}")
        for row in conflict.decisions:
            why = "; ".join(text for text in (row.reason, row.note) if text)
            out.say(f"    {escape(row.reviewer)}: {escape(words_of(row.value))}{escape(f': {why}') if why else ''}")
    out.say(
        f"{len(rows):,} in conflict. To settle one: [bold]tamis override {short(batch.id)} RECORD DECISION "
        "--settle --reviewer NAME[/]; to settle many: `tamis import-decisions ... --settles`."
    )


def _from_file(batch: Batch, file: Path, reviewer: str | None, *, settle: bool) -> tuple[list[Override], int]:
    """Record the decisions of a table. Return the recorded decisions, and the number of rows without a decision."""
    table = read_decisions(file, batch.operation(), batch.item_ids(), reviewer=reviewer)
    if not table.decisions:
        raise InputError("the column 'decision' is empty in every row: there is no decision", path=file)
    try:
        done = decide(batch, [replace(decision, settles=settle) for decision in table.decisions])
    except RefusedDecision as refused:
        raise InputError(str(refused), path=file, line=table.lines[refused.number]) from refused
    return done, table.blank


def _value(operation: Operation, stage: HumanStage, decision: str) -> object:
    return operation.value_of_text(decision) if stage is HumanStage.OWN else " ".join(decision.split()).lower()


def _line(batch: Batch, decision: Override, row: ItemResult) -> str:
    title = str(row.item.get("title") or "")
    name = escape(record_words(decision.index, decision.item_id)) + (f" {escape(title)}" if title else "")
    stage = "" if decision.stage is HumanStage.OWN else f" ({decision.stage.value})"
    if decision.withdrawn:
        text = f"{name}{stage}: withdrawn by {escape(decision.reviewer)}"
        if stage:
            return text
        software = f"the software's decision counts again: {escape(words_of(decision.system_value))}"
        left = seen(batch, "the record is undecided", "other decisions may be hidden")
        left = software if decision.system_decided else left
        if row.decisions:
            left = f"others decided: {escape(row.decision_words or '')}"
        return f"{text}; {left}"
    text = f"{name}{stage}: [bold]{escape(words_of(decision.value))}[/] by {escape(decision.reviewer)}"
    counts = row.override
    if not stage and counts is not None and counts.value != decision.value:
        return f"{text}; kept, but {escape(counts.reviewer)} has settled it: {escape(words_of(counts.value))} counts"
    if stage:
        return text
    if not decision.system_decided:
        return f"{text}; the software's decision: {seen(batch, *UNDECIDED)}"
    system = "agrees" if decision.confirms else f"decided {escape(words_of(decision.system_value))}"
    return f"{text}; the software {system}"


def _contradicting(batch_id: str, made: Override, conflict: Conflict) -> str:
    others = ", ".join(
        f"{other.reviewer} ({words_of(other.value)})"
        for other in conflict.decisions
        if other.reviewer != made.reviewer and (made.withdrawn or other.value != made.value)
    )
    if conflict.system_differs:
        what = f"the model is the second reader and decided {words_of(conflict.system_value)}. People's decision counts"
    elif made.withdrawn:
        what = f"the remaining decisions differ: {others}, so no person's decision counts"
    else:
        what = f"this contradicts {others}, so no person's decision counts"
    stage = "" if made.stage is HumanStage.OWN else f" --stage {made.stage.value}"
    return (
        f"[yellow]conflict[/]: {escape(what)}. To settle it: "
        f"[bold]tamis override {short(batch_id)} number:{record_number(made.index)} DECISION{stage} --settle "
        "--reviewer NAME[/]"
    )


def words_of(value: object) -> str:
    if value is None:
        return "not present"
    if isinstance(value, bool):
        return "include (true)" if value else "exclude (false)"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@app.command(examples=("tamis copies 3f2a91c0", 'tamis copies 3f2a91c0 45 12 --reviewer "Reviewer A"'))
def copies(
    batch_id: BatchId,
    records: Annotated[tuple[str, str] | None, typer.Argument(help="The copy, and the record that stays.")] = None,
    verdict: Annotated[Literal["copies", "different", "undo"], typer.Option(help="undo: take it back.")] = "copies",
    reviewer: Reviewer = None,
) -> Iterator[object]:
    """List the pairs of records that may be copies. With two records, call them copies or different reports."""
    with opened(batch_id) as batch:
        if records:
            index, of = (find_record(record, batch.item_ids()) for record in records)
            said, who = None if verdict == "undo" else verdict, named(reviewer, "who says so?")
            decide_copies(batch, index, of, said, reviewer=who)
        pairs = list_copies(batch)
    yield {"id": batch.id, "copies": pairs}
    lines = ["[bold]{3}[/]: {2}\n  {0}\n  {1}".format(*map(escape, pair.cells)) for pair in pairs]
    out.say("\n".join(lines) or f"batch {batch.id}: no two records may be copies.")
