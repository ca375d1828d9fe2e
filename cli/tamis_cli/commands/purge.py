"""`tamis purge`: deletes finished batches and reviews, and can archive them first."""

import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape

from tamis_producer.ledger import ledger_errors
from tamis_producer.retention.deletion import prune_all_answers
from tamis_producer.retention.purge import give_back, purge, space_taken
from tamis_producer.retention.subjects import Subject, find_subjects, measure
from tamis_schemas import InvalidParameters, InvalidRequest

from .app import EXIT_FAILED, app, err, out
from .connected import connected
from .json_document import AsJson, print_json
from .tables import counted, listing, short

AGE = re.compile(r"(\d{1,5})([hdw])")
UNITS = {"h": "hours", "d": "days", "w": "weeks"}
LISTED = 20  # batches and reviews printed; --json has all


@app.command(
    "purge",
    examples=(
        "tamis purge --older-than 90d --dry-run",
        "tamis purge --older-than 90d --archive /srv/tamis-archive --yes",
        "tamis purge 3f2a91c0 --archive old",
        "tamis purge --answers-older-than 30d --yes",
    ),
)
def purge_command(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="The ids of batches and reviews, or their first characters."),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="AGE", help="Only batches and reviews that ended before: 90d, 12w, 36h."),
    ] = None,
    label: Annotated[str | None, typer.Option("--label", help="Only batches and reviews with this label.")] = None,
    answers_older_than: Annotated[
        str | None,
        typer.Option("--answers-older-than", metavar="AGE", help="Cached answers that are older than this."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the batches to delete, and delete nothing.")] = False,
    archive: Annotated[
        Path | None, typer.Option("--archive", metavar="DIR", help="Archive there first, each in its own folder.")
    ] = None,
    space: Annotated[
        bool, typer.Option("--give-back", help="Return free space to the disk. All work waits until this is done.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete finished batches and reviews with all their data. With --archive, psql can restore them.

    Running, paused and pending batches stay, and so do unfinished reviews. If a purge is interrupted, the next purge
    completes it. Until then, the remaining data are hidden.
    """
    by_rule = older_than is not None or label is not None
    if not (ids or by_rule or answers_older_than or space) or (ids and by_rule):
        raise InvalidRequest("give ids, or --older-than, --label or both, or --answers-older-than")
    age, answers_age = _age(older_than, "--older-than"), _age(answers_older_than, "--answers-older-than")
    with connected() as client:
        with ledger_errors(), client.engine.connect() as connection:
            wanted = ids or by_rule
            subjects = find_subjects(connection, ids=ids or (), older_than=age, label=label) if wanted else []
            sizes = {subject.id: measure(connection, subject) for subject in subjects}
        if not as_json and wanted:
            _print_plan(subjects, sizes, would=dry_run)
        if dry_run:
            if as_json:
                print_json(_facts(subjects, sizes) | {"dry_run": True})
            return
        if not yes and not _agreed(subjects, answers_older_than, archive):
            raise typer.Exit(EXIT_FAILED)
        before = space_taken(client.engine)
        with err.status("purging") as status:
            gone = 0

            def progress(items: int) -> None:
                nonlocal gone
                gone += items
                status.update(f"purging: {gone:,} items deleted")

            done = list(purge(client.engine, subjects, archive=archive, progress=progress))
        answers = 0 if answers_age is None else prune_all_answers(client.engine, answers_age)
        after = give_back(client.engine) if space else before
    purged = [entry.subject for entry in done]
    if as_json:
        print_json(
            _facts(purged, sizes)
            | {"dry_run": False, "answers": answers, "disk_before": before, "disk_after": after}
            | {"archives": [str(entry.archive) for entry in done if entry.archive is not None]}
        )
        return
    if wanted:
        items = sum(subject.items for subject in purged)
        where = "" if archive is None else f", archived in {escape(str(archive))}"
        restored = "" if archive is None else "; to restore one, run [bold]restore.sql[/] in its folder with psql"
        out.say(f"purged {_subjects(purged)} with {items:,} items{where}{restored}")
    if answers_age is not None:
        out.print(f"deleted {answers:,} answers of the cache")
    if space:
        out.print(f"the tables use {_bytes(after)} on disk; before: {_bytes(before)}")


def _age(text: str | None, option: str) -> timedelta | None:
    if text is None:
        return None
    match = AGE.fullmatch(text.strip().lower())
    if match is None:
        raise InvalidParameters(f"{option}: {text!r} is not an age: write 90d, 12w or 36h")
    return timedelta(**{UNITS[match[2]]: int(match[1])})


def _facts(subjects: list[Subject], sizes: dict[UUID, int]) -> dict[str, object]:
    return {
        "batches": sum(len(row.batch_ids) for row in subjects),
        "items": sum(row.items for row in subjects),
        "bytes": sum(sizes[row.id] for row in subjects),
        "subjects": [
            {"id": row.id, "kind": row.noun, "label": row.label, "ended_at": row.ended_at, "batches": row.batch_ids}
            | {"items": row.items, "bytes": sizes[row.id]}
            for row in subjects
        ],
    }


def _print_plan(subjects: list[Subject], sizes: dict[UUID, int], *, would: bool) -> None:
    if not subjects:
        out.print("nothing to delete: no finished batch or review matches")
        return
    table = listing("", "id", "label", "ended", numbers=("items", "size"))
    for row in subjects[:LISTED]:
        ended = "" if row.ended_at is None else f"{row.ended_at:%Y-%m-%d}"
        table.add_row(row.noun, short(row.id), escape(row.label or ""), ended, f"{row.items:,}", _bytes(sizes[row.id]))
    out.print(table)
    if len(subjects) > LISTED:
        out.print(f"and {len(subjects) - LISTED:,} more; --json lists them all")
    verb = "would be deleted" if would else "will be deleted"
    batches, items = sum(len(row.batch_ids) for row in subjects), sum(row.items for row in subjects)
    out.print(
        f"{counted(batches, 'batch', 'batches')} with {items:,} items and {_bytes(sum(sizes.values()))} of rows {verb}"
    )


def _agreed(subjects: list[Subject], answers: str | None, archive: Path | None) -> bool:
    """Ask at the terminal, and return whether the user agrees. If there is nothing to delete, return True.

    Raises `InvalidRequest` if there is no terminal.
    """
    if not subjects and answers is None:
        return True
    if not (sys.stdin.isatty() and err.is_terminal):
        raise InvalidRequest("no terminal to confirm at: add --yes, or --dry-run to see what would be deleted")
    kept = "without an archive: it cannot be restored" if archive is None else "after it is archived"
    what = f"Delete all of it, {kept}?" if subjects else f"Delete the cache's answers older than {answers}?"
    return typer.confirm(what, err=True)


def _subjects(subjects: list[Subject]) -> str:
    reviews = sum(subject.review_id is not None for subject in subjects)
    single = len(subjects) - reviews
    named = [counted(n, *words) for n, words in ((single, ("batch", "batches")), (reviews, ("review", "reviews"))) if n]
    return " and ".join(named) or "nothing"


def _bytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
