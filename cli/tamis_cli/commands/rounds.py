"""A batch's rounds and failures on the terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from tamis_producer.ledger.batch_view import BatchView
from tamis_schemas import ErrorKind, Summary

from .render import percent
from .tables import facts_by_name, listing

if TYPE_CHECKING:
    from tamis_schemas import RetryBias
    from tamis_schemas.batches.retry_bias import Comparison, RoundFailures


def kinds_words(kinds: Mapping[ErrorKind, int]) -> str:
    """`timeout 12, connection 1`: the most frequent first."""
    ordered = sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))
    return ", ".join(f"{kind.value} {n:,}" for kind, n in ordered)


def print_rounds(summaries: Sequence[Summary], view: BatchView, console: Console) -> None:
    """A line a round, where there is more than one."""
    if view.round == 1:
        return
    table = facts_by_name()
    before = 0
    for summary in summaries:
        counts = summary.counts
        text = f"decided {counts.decided - before:,}"
        text += f", failed {counts.failed:,}: [red]{kinds_words(summary.errors)}[/]" if counts.failed else ", failed 0"
        if counts.cancelled:
            text += f", cancelled {counts.cancelled:,}"
        table.add_row(f"round {summary.round}", text)
        before = counts.decided
    if not any(summary.round == view.round for summary in summaries):
        under_way = f"{view.state.value}: {view.counts.pending + view.counts.running:,} to do"
        table.add_row(f"round {view.round}", under_way)
    console.print(table)


def say_failed(batch_id: str, console: Console) -> None:
    """Say what to do about the failed items of a batch that has ended."""
    console.print(
        f"[dim]tamis failures {batch_id}[/] shows what failed; [dim]tamis retry {batch_id}[/] asks about it again.",
        soft_wrap=True,
    )


def print_failures(bias: "RetryBias", console: Console) -> None:
    """Print what failed in each round, and by which traits."""
    for one in bias.rounds:
        _print_round(one, console)


def _print_round(one: "RoundFailures", console: Console) -> None:
    kinds = f": [red]{kinds_words(one.kinds)}[/]" if one.kinds else ""
    console.print(f"\n[bold]round {one.round}[/]: {one.failed:,} of {one.evaluated:,} records failed{kinds}")
    if one.pass_rate.total:
        console.print(f"[dim]passed of those decided in it[/]  {percent(one.pass_rate)}")
    for comparison in one.comparisons:
        _print_comparison(comparison, console)


def _print_comparison(comparison: "Comparison", console: Console) -> None:
    table = listing(f"by {comparison.trait.words}", numbers=("failed", "of", "rate"))
    for group in comparison.groups:
        table.add_row(escape(group.label), f"{group.failed:,}", f"{group.n:,}", f"{group.rate:.1%}")
    console.print(table)
    tested = f" [dim]({comparison.tested})[/]" if comparison.tested else ""
    console.print(f"{escape(comparison.sentence)}{tested}")
