"""A batch's live progress: a bar on a terminal, a line now and then elsewhere."""

from datetime import timedelta
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from tamis_producer.ledger.batch_view import BatchView
from tamis_schemas import BatchPaused, Pause, dollars

from .app import err

if TYPE_CHECKING:
    from tamis_producer.client.batch import Batch

LINE_EVERY = 0.1  # of the batch, where there is no terminal


def watch(batch: "Batch", console: Console) -> BatchView:
    """The batch's last view, once nothing more will happen; its progress is shown meanwhile.

    Raises `BatchPaused` where the batch cannot go on, and `LedgerUnavailable`; a `KeyboardInterrupt` passes, and the
    batch goes on.
    """
    return _bar(batch, console) if console.is_terminal else _lines(batch, console)


def _bar(batch: "Batch", console: Console) -> BatchView:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}"),
    )
    with Progress(*columns, console=console, transient=False) as progress:
        view = batch.status()
        task = progress.add_task("", total=view.counts.n_items, detail="")
        for view in batch.watch():
            progress.update(task, completed=view.counts.finished, detail=detail(view))
    return view


def _lines(batch: "Batch", console: Console) -> BatchView:
    said, paused, waited_for = -1.0, False, None
    view = batch.status()
    for view in batch.watch():
        share = view.counts.finished / max(1, view.counts.n_items)
        if (
            share - said >= LINE_EVERY
            or (view.state.terminal and share > said)
            or (view.pause and not paused)
            or (view.waits_for is not None and view.waits_for != waited_for)
        ):
            said, paused, waited_for = share, view.pause is not None, view.waits_for
            console.print(f"{view.counts.finished}/{view.counts.n_items} {detail(view)}")
    return view


def detail(view: BatchView) -> str:
    """What the bar says beside the count: failed, rate, time to go, tokens; or what it waits for."""
    parts = [view.state.value] if view.state.value not in ("running", "pending") else []
    if view.pause is not None:
        parts = [f"[yellow]paused: {view.pause.kind.value}[/]" if view.pause.by_itself else paused(view.id, view.pause)]
    if view.counts.failed:
        parts.append(f"[red]{view.counts.failed} failed[/]")
    if view.waits_for is not None:
        parts.append(f"[yellow]{escape(view.waits_for)}[/]")
    if view.rate:
        parts.append(f"{view.rate:.1f}/s")
    if not view.state.terminal and view.eta_seconds is not None:
        parts.append(f"{timedelta(seconds=round(view.eta_seconds))} to go")
    tokens = view.prompt_tokens + view.completion_tokens
    if tokens:
        parts.append(f"{tokens:,} tokens")
    if view.budget is not None:
        parts.append(f"{dollars(view.budget.spent)} of {dollars(view.budget.max_cost)}")
    elif view.cost:
        parts.append(dollars(view.cost))
    return " · ".join(parts)


def say_paused(reason: BatchPaused) -> None:
    """Why a batch that was followed cannot go on, for people; what was decided so far is kept."""
    err.say(f"[bold red]tamis:[/] {escape(str(reason))}")


def paused(batch_id: str, pause: Pause) -> str:
    """That a batch is paused, why, and the command that goes on, with markup."""
    reason = f": {pause.reason}" if pause.by_itself else ""
    return f"[yellow]paused{escape(reason)}[/]. {escape(pause.remedy(batch_id))}"
