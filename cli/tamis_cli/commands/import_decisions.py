"""`tamis import-decisions`: imports decisions from other tools, and matches them with the records of a batch."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer.results.formula_guard import GuardedTable
from tamis_producer.results.results_file import replacing
from tamis_review import NamedWords, TableColumns, has_later_stage, imported_decisions
from tamis_review.decisions.import_decisions import Astray, Everything, Imported

from .app import app, out
from .arguments import OWN_STAGE, BatchId, Stage, stage_name, stage_named
from .opened import opened
from .override import NOT_FOLLOWING
from .tables import counted, short

NAMED = 10  # rows printed for each reason why rows are skipped
Column = Annotated[str | None, typer.Option(metavar="NAME", help="The column's name, if Tamis should not guess it.")]


@app.command(
    "import-decisions",
    examples=(
        'tamis import-decisions 3f2a91c0 first.csv --reviewer "Reviewer A"',
        "tamis import-decisions 3f2a91c0 rayyan-export.zip",
        "tamis import-decisions 3f2a91c0 votes.csv --decision-column vote --include 1 --exclude 2 --reviewer B",
        "tamis import-decisions 3f2a91c0 resolved.csv --reviewer C --settles",
        "tamis import-decisions 3f2a91c0 full_texts.csv --stage full-text --reviewer A --unmatched left.csv",
    ),
)
def import_decisions(
    batch_id: BatchId,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A CSV or TSV table, an export of Rayyan or Covidence, or a project of ASReview."
        ),
    ],
    reviewer: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The reviewer. If the file names several, record only NAME's decisions."),
    ] = None,
    stage: Stage = OWN_STAGE,
    settles: Annotated[
        bool, typer.Option("--settles", "--settle", help="Settle conflicts: these decisions count over all others.")
    ] = False,
    id_column: Column = None,
    decision_column: Column = None,
    reviewer_column: Column = None,
    reason_column: Column = None,
    note_column: Column = None,
    retrieval_column: Column = None,
    include: Annotated[list[str] | None, typer.Option(metavar="VALUE", help="A word that means include.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="VALUE", help="A word that means exclude.")] = None,
    uncertain: Annotated[
        list[str] | None, typer.Option(metavar="VALUE", help="A word that means uncertain: others decide.")
    ] = None,
    everything: Annotated[
        Everything | None,
        typer.Option("--all", help="The decision on every record of the file, as in Covidence's lists."),
    ] = None,
    unmatched: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the skipped rows with reasons to a CSV file.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show how the file is read, and record nothing.")] = False,
) -> Iterator[object]:
    """Import decisions from other tools. Records are matched by id, DOI, PMID and title; unmatched rows are listed."""
    with opened(batch_id) as batch:
        done = imported_decisions.import_decisions(
            batch,
            file,
            reviewer=(reviewer or "").strip() or None,
            stage=stage_named(stage),
            settles=settles,
            columns=TableColumns(
                id_column, decision_column, reviewer_column, reason_column, note_column, retrieval_column
            ),
            words=NamedWords(tuple(include or ()), tuple(exclude or ()), tuple(uncertain or ())),
            everything=everything,
            dry_run=dry_run,
        )
        later = has_later_stage(batch) and done.new
    left_out = (*done.unmatched, *done.ambiguous)
    if unmatched is not None:
        _write(unmatched, left_out)
    yield {"id": batch.id, **done.model_dump(mode="json")}
    _say(done, file)
    for heading, rows in (("not found in the batch", done.unmatched), ("ambiguous, and skipped", done.ambiguous)):
        if rows:
            _list(heading, rows, unmatched)
    if done.conflicts:
        out.say(f"{counted(done.conflicts, 'record')} in conflict: [bold]tamis conflicts {short(batch.id)}[/]")
    if later:
        out.say(NOT_FOLLOWING)


def _say(done: Imported, file: Path) -> None:
    columns = ", ".join(f"{role} from {name!r}" for role, name in done.columns.items())
    out.say(f"{escape(str(file))}: {done.kind}{escape(f', {columns}') if columns else ''}")
    for words in (done.words, done.retrieval_words):
        if words:
            out.say(escape(", ".join(count.shown for count in words)))
    matches = ", ".join(f"{n:,} by {by}" for by, n in done.found_by.items()) or "none"
    out.say(f"{done.rows:,} rows; records found: {matches}; without a decision: {done.undecided:,}")
    if not done.recorded:
        out.say(f"[yellow]dry run[/]: {done.decisions:,} decisions would be recorded or already exist.")
        return
    who = escape(", ".join(done.reviewers))
    changed = f", {done.changed:,} of them replacing an earlier one" if done.changed else ""
    out.say(
        f"[bold]{done.new:,} decisions recorded[/]{changed}, by {who}, {stage_name(done.stage)}; "
        f"{done.decisions - done.new:,} already existed."
    )


def _list(heading: str, rows: Sequence[Astray], written: Path | None) -> None:
    out.say(f"[yellow]{len(rows):,} rows {heading}[/]:")
    for row in rows[:NAMED]:
        record = " ".join(text for text in (row.id, row.title) if text)
        out.say(f"    {row.place}: {escape(record[:100] or 'a record without id and title')}: {escape(row.why)}")
    if len(rows) > NAMED:
        rest = f"in {escape(str(written))}" if written is not None else "--unmatched FILE writes all of them"
        out.say(f"    and {len(rows) - NAMED:,} more: {rest}")


def _write(path: Path, rows: Sequence[Astray]) -> None:
    with replacing(path) as stream:
        table = GuardedTable(stream)
        table.write(("place", "id", "title", "why"))
        for row in rows:
            table.write((row.place, row.id, row.title, row.why))
