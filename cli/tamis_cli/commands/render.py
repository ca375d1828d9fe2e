"""Tables for the terminal: batches, their summaries, rounds and failures."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from tamis_producer.ledger.batch_view import BatchView, Budget, ServiceTraffic
from tamis_schemas import (
    Counts,
    ErrorKind,
    MetricFigures,
    Pause,
    PossiblyUnbilled,
    Priority,
    Proportion,
    Summary,
    cost_words,
    dollars,
)

from .tables import counted, facts_by_name, listing, short

if TYPE_CHECKING:
    from tamis_producer.ledger import HumanCounts
    from tamis_producer.ledger.snapshots import SnapshotChange
    from tamis_review.report.team import Team
    from tamis_schemas import RetryBias
    from tamis_schemas.batches.retry_bias import Comparison


def percent(share: Proportion) -> str:
    """Return a proportion as text: `12 of 24 (50.0%, 95% interval 31.4% to 68.6%)`.

    If the proportion has no estimate, return `none decided`.
    """
    if share.estimate is None or share.low is None or share.high is None:
        return "none decided"
    return (
        f"{share.count} of {share.total} ({share.estimate:.1%}, "
        f"{share.level:.0%} interval {share.low:.1%} to {share.high:.1%})"
    )


def print_summary(summary: Summary, console: Console) -> None:
    """Print the summary of a round in a few lines."""
    # These imports load operations and prices, which are needed only for a finished batch.
    from tamis_schemas import Inclusion, InclusionStatus, tier_name
    from tamis_schemas.answers.evaluation import metric_rank
    from tamis_schemas.operations import kind_of, operation_name

    screening = summary.operation == operation_name(Inclusion)
    to_humans = summary.values.get(InclusionStatus.UNCERTAIN.value, 0) + summary.counts.failed
    spread = ", ".join(f"{name} {n}" for name, n in summary.confidence.bands.items() if n)
    median, recall = summary.confidence.median, summary.recall_escalations
    tiered = len(summary.tiers) > 1 or any(tier_name(tier) is not None for tier in summary.tiers)
    rows: list[tuple[str, str | None]] = [
        ("items", _counts(summary.counts)),
        ("decided", ", ".join(f"{value} {n}" for value, n in summary.values.items()) or None),
        ("pass rate", percent(summary.pass_rate) if kind_of(summary.operation).decides() else None),
    ]
    if screening and to_humans:
        rows.append(("to a person", f"{to_humans:,}: uncertain or failed, never excluded"))
    if screening and summary.unverified:
        rows.append(("", f"{summary.unverified:,} of them excluded by the model without a verified quote"))
    if summary.cut:
        cut = f"[yellow]{summary.cut:,} shortened[/]: see `cut` in the results. The limit of an item is "
        rows.append(("cut", f"{cut}TAMIS_MAX_PROMPT_CHARS characters"))
    rows += [
        ("removed", escape(", ".join(f"{rule} {n:,}" for rule, n in summary.exclusions.items())) or None),
        ("failed", ", ".join(f"[red]{kind.value}[/] {n}" for kind, n in summary.errors.items()) or None),
        ("confidence", None if median is None else f"median {median:.2f} ({spread})"),
    ]
    for number, label in enumerate(sorted(summary.evaluations, key=metric_rank)):
        rows.append(("" if number else "metrics", escape(f"{label}: {metric_words(summary.evaluations[label])}")))
    if recall is not None:
        rows.append(("recall", f"a model was asked about the recall of {recall.count:,} of {recall.total:,} items"))
    calls = f"{summary.calls:,} calls, {summary.prompt_tokens:,} + {summary.completion_tokens:,} tokens"
    cached = f"; {summary.cached:,} from the cache" if summary.cached else ""
    rows += [
        ("cost", None if summary.cost is None else paid(summary.cost, summary.unpriced)),
        _unbilled(summary),
        ("calls", f"{calls}, {summary.wall_seconds:.1f} s{cached}"),
        ("model", escape(", ".join(summary.models)) or None),
        ("tier", escape(", ".join(f"{tier} {n:,}" for tier, n in summary.tiers.items())) if tiered else None),
    ]
    console.print(facts_by_name(rows))


def metric_words(figures: MetricFigures) -> str:
    """Return the figures of a metric as text: `mean 0.82, least 0.40 (24 values, 2 without)`.

    Here, two items have no value.
    """
    parts = [f"{name} {n:,}" for name, n in figures.categories.items()]
    if figures.mean is not None and figures.minimum is not None:
        parts.append(f"mean {figures.mean:.2f}, least {figures.minimum:.2f}")
    without = sum(figures.without.values())
    counted = f"{figures.n:,} {'value' if figures.n == 1 else 'values'}" + (f", {without:,} without" if without else "")
    return f"{', '.join(parts)} ({counted})" if parts else f"none of {without:,} has a value"


def paid(cost: Decimal, unpriced: int) -> str:
    """Return a cost as text. `unpriced`: the number of items without a known price.

    If no item has a known price, the text says how to set a price.
    """
    if unpriced and not cost:
        return "not known: put the model's price in a file, and set TAMIS_PRICES to that file"
    return cost_words(cost, unpriced)


def _unbilled(figures: PossiblyUnbilled) -> tuple[str, str | None]:
    words = figures.unbilled_words
    return "possibly unbilled", None if words is None else f"[yellow]{words}[/]"


def _budget(budget: Budget) -> str:
    held = f", {dollars(budget.reserved)} reserved for calls in flight" if budget.reserved else ""
    return f"{dollars(budget.spent)} of {dollars(budget.max_cost)} spent{held}"


def _counts(counts: Counts) -> str:
    states = ("decided", "failed", "excluded_by_filter", "cancelled", "pending", "running")
    parts = (f"{state.replace('_', ' ')} {n}" for state in states if (n := getattr(counts, state)))
    return f"{counts.n_items}: {', '.join(parts)}"


def print_view(view: BatchView, console: Console, team: "Team | None" = None) -> None:
    """Print the state of a batch. `team`: how far people have read the batch's records."""
    by = "" if view.submitted_by is None else f" by {escape(view.submitted_by)}"
    rows = (
        ("batch", view.id),
        ("operation", escape(f"{view.operation} of {view.label or 'unnamed items'}")),
        ("state", state_words(view, team) if view.pause is None else paused(view.id, view.pause)),
        ("read", None if team is None else f"by people {team.read:,} of {team.to_read:,}"),
        ("waits", None if view.waits_for is None else f"[yellow]{escape(view.waits_for)}[/]"),
        ("items", _counts(view.counts)),
        ("priority", None if view.priority is Priority.NORMAL else view.priority.value),
        ("cost", paid(view.cost, view.unpriced) if view.cost or view.unpriced else None),
        _unbilled(view),
        ("budget", None if view.budget is None else _budget(view.budget)),
        ("model", escape(view.model or "the workers' model")),
        ("steering", None if view.steering is None else escape(view.steering.words)),
        ("submitted", f"{view.created_at:%Y-%m-%d %H:%M:%S %Z}{by}"),
    )
    console.print(facts_by_name(rows))


def state_words(view: BatchView, team: "Team | None" = None) -> str:
    """Return a batch's state as text with markup. If the batch has ended with failed items, the text has their number.

    `team`: how far people have read the batch. If people still have work on a completed batch, the text is `model
    finished`.
    """
    if team is not None and team.open and view.state == "completed" and not view.lacks_decisions:
        return "model finished"
    return f"[yellow]ended, {view.counts.failed:,} failed[/]" if view.lacks_decisions else view.state.value


def paused(batch_id: str, pause: Pause) -> str:
    """Return text with markup about a paused batch: why it paused itself (if it did), and how to resume it."""
    reason = f": {pause.reason}" if pause.by_itself else ""
    return f"[yellow]paused{escape(reason)}[/]. {escape(pause.remedy(batch_id))}"


def print_humans(batch_id: str, humans: "HumanCounts", console: Console) -> None:
    """Print a line about people's decisions, which a summary omits."""
    others = ((humans.unsure, "left uncertain"), (humans.conflicts, "in conflict"))
    more = "".join(f", {n:,} {words}" for n, words in others if n)
    console.print(
        f"[dim]people[/]      {counted(humans.decided, 'record')} decided, {humans.overridden:,} of them overridden, "
        f"{humans.confirmed:,} confirmed{more}: [dim]tamis overrides {batch_id}[/]"
    )


def print_snapshots(batch_id: str, change: "SnapshotChange | None", console: Console) -> None:
    """If the models that answer a batch have changed, print which answered, and a command that asks a sample again."""
    if change is not None:
        for sentence in change.sentences:
            console.print(f"[yellow]{escape(sentence)}[/]")
        console.print(f"[dim]tamis retry {batch_id} --sample 100[/] asks a random sample again.")


def print_traffic(traffic: list[ServiceTraffic], console: Console) -> None:
    """Print a line for each service and hour: the number and the cost of the calls."""
    table = listing("service", "hour", numbers=("calls", "failed", "open", "cost"))
    for row in traffic:
        table.add_row(
            escape(row.service),
            f"{row.hour:%Y-%m-%d %H:00}",
            f"{row.calls:,}",
            f"[red]{row.failed:,}[/]" if row.failed else "0",
            f"{row.open:,}",
            row.paid,
        )
    console.print(table)


def print_views(views: list[BatchView], console: Console) -> None:
    """Print a table with a line for each batch."""
    by_keys = any(view.submitted_by is not None for view in views)
    names = ("batch", "submitted", *(["by"] if by_keys else []), "operation", "state")
    table = listing(*names, numbers=("items", "done", "failed"))
    for view in views:
        table.add_row(
            short(view.id),
            f"{view.created_at:%Y-%m-%d %H:%M}",
            *([escape(view.submitted_by or "")] if by_keys else []),
            escape(f"{view.operation} {view.label or ''}".strip()),
            state_words(view) if view.pause is None else f"[yellow]paused: {view.pause.kind_until}[/]",
            str(view.counts.n_items),
            str(view.counts.finished),
            f"[red]{view.counts.failed}[/]" if view.counts.failed else "0",
        )
    console.print(table)


def kinds_words(kinds: Mapping[ErrorKind, int]) -> str:
    """Return the number of errors of each kind as text, most frequent first: `timeout 12, connection 1`."""
    ordered = sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))
    return ", ".join(f"{kind.value} {n:,}" for kind, n in ordered)


def print_rounds(summaries: Sequence[Summary], view: BatchView, console: Console) -> None:
    """Print a line for each round of a batch. Print nothing if the batch has only one round."""
    if view.round == 1:
        return
    rows = []
    before = 0
    for summary in summaries:
        counts = summary.counts
        text = f"decided {counts.decided - before:,}"
        text += f", failed {counts.failed:,}: [red]{kinds_words(summary.errors)}[/]" if counts.failed else ", failed 0"
        if counts.cancelled:
            text += f", cancelled {counts.cancelled:,}"
        rows.append((f"round {summary.round}", text))
        before = counts.decided
    if not any(summary.round == view.round for summary in summaries):
        under_way = f"{view.state.value}: {view.counts.pending + view.counts.running:,} to do"
        rows.append((f"round {view.round}", under_way))
    console.print(facts_by_name(rows))


def say_failed(batch_id: str, console: Console) -> None:
    """Print the commands that show and retry the failed items of a finished batch."""
    console.print(f"[dim]tamis failures {batch_id}[/] shows the failures; [dim]tamis retry {batch_id}[/] asks again.")


def print_failures(bias: "RetryBias", console: Console) -> None:
    """Print the failures of each round, and whether failures depend on traits of the records, such as length."""
    for failures in bias.rounds:
        kinds = f": [red]{kinds_words(failures.kinds)}[/]" if failures.kinds else ""
        counts = f"{failures.failed:,} of {failures.evaluated:,} records failed"
        console.print(f"\n[bold]round {failures.round}[/]: {counts}{kinds}")
        if failures.pass_rate.total:
            console.print(f"[dim]passed, of the decided records[/]  {percent(failures.pass_rate)}")
        for comparison in failures.comparisons:
            _print_comparison(comparison, console)


def _print_comparison(comparison: "Comparison", console: Console) -> None:
    groups = ((escape(row.label), f"{row.failed:,}", f"{row.n:,}", f"{row.rate:.1%}") for row in comparison.groups)
    console.print(listing(f"by {comparison.trait.words}", numbers=("failed", "of", "rate"), rows=groups))
    tested = f" [dim]({comparison.tested})[/]" if comparison.tested else ""
    console.print(f"{escape(comparison.sentence)}{tested}")
