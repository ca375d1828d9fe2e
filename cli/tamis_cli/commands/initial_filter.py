"""`tamis initial-filter`: applies only the rules of a screening (tier 1), without a server or a model."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from tamis_review.filter.filter_report import FilterReport, filter_files, write_outcomes
from tamis_review.plans.criteria_file import read_criteria

from .app import app, out
from .arguments import Encoding, Files, Strict, to_file, write_rows
from .intake import reading_of, say_notes
from .tables import listing


@app.command(
    "initial-filter",
    examples=(
        "tamis initial-filter citations.ris --criteria criteria.yaml",
        "tamis initial-filter labelled.csv --criteria criteria.yaml --labels included -o outcomes.csv",
    ),
)
def initial_filter(
    files: Files,
    criteria: Annotated[Path, typer.Option(help="The review's criteria, YAML or JSON.")],
    labels: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column with 1 for included and 0 for excluded.")
    ] = None,
    output: Annotated[Path | None, to_file("A CSV file with the outcome of every record.")] = None,
    strict: Strict = False,
    encoding: Encoding = None,
) -> Iterator[object]:
    """Count the records that each rule of the initial filter (tier 1) rejects. No model is asked."""
    reading = reading_of(strict=strict, encoding=encoding)
    tier_one = filter_files(files, read_criteria(criteria), label=labels, **reading)
    for path, notes in tier_one.notes.items():
        say_notes(notes, path)
    labelled = labels is not None
    write_rows(output, "record", partial(write_outcomes, tier_one))
    yield _facts(tier_one, labelled=labelled)
    _print_counts(tier_one, labelled=labelled)
    if labelled:
        _print_lost(tier_one)
    for rule, why in tier_one.switched_off.items():
        out.print(f"[yellow]{rule} is switched off[/]: {escape(why)}")


def _facts(tier_one: FilterReport, *, labelled: bool) -> dict[str, Any]:
    """Return the filter's counts as a dict for JSON. With labels, add the rejected records labelled as included."""
    lost = [
        {"file": outcome.path, "index": outcome.index, "id": outcome.item_id}
        | {"rule": outcome.result.rule, "reason": outcome.result.reason}
        for outcome in tier_one.lost
    ]
    return {
        "records": len(tier_one.outcomes),
        "passed": tier_one.passed,
        "rules": tier_one.rules,
        "switched_off": dict(tier_one.switched_off),
        "included": tier_one.labelled(included=True) if labelled else None,
        "excluded": tier_one.labelled(included=False) if labelled else None,
        "lost": lost if labelled else None,
    }


def _print_counts(tier_one: FilterReport, *, labelled: bool) -> None:
    """Print a line for each rule, then lines for rejected, passed and all records.

    With labels, each line also has the numbers of its records labelled as included and as excluded.
    """
    table = listing("rule", numbers=("records", "included", "excluded") if labelled else ("records",))
    for count in tier_one.rules:
        lost = f"[bold red]{count.included:,}[/]" if count.included else "0"
        table.add_row(count.rule, f"{count.records:,}", *((lost, f"{count.excluded:,}") if labelled else ()))
    total = len(tier_one.outcomes)
    rejected = total - tier_one.passed
    included, excluded = tier_one.labelled(included=True), tier_one.labelled(included=False)
    lost_in_all = len(tier_one.lost)
    rejected_excluded = sum(count.excluded for count in tier_one.rules)
    rows = (
        ("[dim]rejected[/]", rejected, lost_in_all, rejected_excluded),
        ("[dim]passed[/]", tier_one.passed, included - lost_in_all, excluded - rejected_excluded),
        ("[dim]all[/]", total, included, excluded),
    )
    for name, *numbers in rows:
        table.add_row(name, *(f"{number:,}" for number in (numbers if labelled else numbers[:1])))
    out.print(table)


def _print_lost(tier_one: FilterReport) -> None:
    lost = tier_one.lost
    if not lost:
        out.print("[green]no included record is rejected[/]")
        return
    out.print(f"[bold red]{len(lost)} included records are rejected:[/]")
    for outcome in lost:
        out.say(
            f"  [red]{outcome.result.rule}[/] {escape(outcome.item_id)}: {escape(outcome.title)} "
            f"[dim]({escape(outcome.result.reason)})[/]"
        )
