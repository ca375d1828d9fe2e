"""The decisions of a screening in groups, for a terminal: a few of each, with the words of the record they stand on."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tamis_schemas import Criterion, InclusionStatus, ItemResult

MOST = 2  # records of a group that are shown ...
MOST_INCLUDED = 8  # ... and of those included, which everybody wants to see

Row: TypeAlias = ItemResult[Any]


def print_decisions(rows: Sequence[Row], criteria: Sequence[Criterion], console: Console) -> None:
    """Print included, excluded, uncertain and failed records, each group under its number."""
    by_status: defaultdict[InclusionStatus, list[Row]] = defaultdict(list)
    for row in rows:
        if row.decision is not None:
            by_status[row.decision.status].append(row)
    if included := by_status[InclusionStatus.INCLUDE]:
        console.print(f"[green]Included: {len(included)}[/]")
        _print_group(console, included, most=MOST_INCLUDED)
    if excluded := by_status[InclusionStatus.EXCLUDE]:
        console.print(f"\n[red]Excluded by a criterion: {len(excluded)}[/], each by words of the record")
        for label, group in _by_criterion(excluded, criteria).items():
            reason = escape(group[0].exclusion_reason or "")
            console.print(Padding(f"{len(group)} by criterion [bold]{label}[/] ({reason})", (0, 0, 0, 2)))
            _print_group(console, group, partial(_quote, label=label), indent=4)
    if rejected := [row for row in rows if row.exclusion is not None]:
        console.print(f"\n[red]Excluded by the initial filter: {len(rejected)}[/], by rules, before a model is asked")
        _print_group(console, rejected, lambda row: Text(row.exclusion.reason if row.exclusion else "", "dim"))
    if uncertain := by_status[InclusionStatus.UNCERTAIN]:
        console.print(f"\n[yellow]Uncertain: {len(uncertain)}[/], for a person to decide")
        _print_group(console, uncertain, _why_uncertain)
    print_failed(rows, console)


def print_failed(rows: Sequence[Row], console: Console) -> None:
    """Print the records that no answer could be had for, and what happened."""
    if failed := [row for row in rows if row.error_kind is not None]:
        console.print(f"\n[bold red]Failed: {len(failed)}[/]; an LLM's failure is never a decision")
        _print_group(console, failed, lambda row: Text(f"{row.error_kind}: {row.error}", "dim"))


def _print_group(
    console: Console,
    rows: Sequence[Row],
    reason_of: Callable[[Row], Text] | None = None,
    *,
    most: int = MOST,
    indent: int = 2,
) -> None:
    """Print the first records of a group: id and title in one line each, and below that the reason."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for row in rows[:most]:
        title = Text(str(row.item.get("title", "")), no_wrap=True, overflow="ellipsis")
        table.add_row(f"{' ' * indent}{escape(row.item_id)}", title)
        if reason_of is not None:
            table.add_row("", reason_of(row))
    console.print(table)
    if len(rows) > most:
        console.print(f"{' ' * indent}[dim]and {len(rows) - most} more[/]")


def _by_criterion(rows: Sequence[Row], criteria: Sequence[Criterion]) -> dict[str, list[Row]]:
    """The excluded records by the label of the criterion that decided, the most frequent first."""
    label_of = {criterion.text: criterion.label for criterion in criteria}
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.decision is not None:
            groups[label_of[row.decision.criteria[0]]].append(row)
    return dict(sorted(groups.items(), key=lambda group: -len(group[1])))


def _quote(row: Row, label: str) -> Text:
    """The words of the record that the deciding verdict stands on."""
    quote = None if row.decision is None else row.decision.verdicts[label].quote
    if quote is None:
        return Text("the record says nothing of it", "dim")
    place = f"{quote.state.value} in the {quote.field or 'record'}"
    return Text.assemble((f"\u201c{quote.text}\u201d", "italic"), (f" {place}", "dim"))


def _why_uncertain(row: Row) -> Text:
    decision = row.decision
    return Text("" if decision is None else decision.uncertain_reason or decision.rationale, "dim")
