"""The live progress of a batch or a review: bars on a terminal, a line now and then elsewhere."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from rich.console import Console
from rich.markup import escape

from tamis_producer.ledger.batch_view import BatchView, ReviewView
from tamis_schemas import BatchPaused, Pause, dollars

from .app import err

if TYPE_CHECKING:
    from tamis_producer.client.batch import Batch
    from tamis_review.plans.reviews import Review

LINE_EVERY = 0.1  # of a batch, where there is no terminal

View = TypeVar("View")
Show: TypeAlias = Callable[[Sequence[BatchView]], None]


def watch(batch: "Batch", console: Console) -> BatchView:
    """The batch's last view, once nothing more will happen; its progress is shown meanwhile.

    Raises `BatchPaused` where the batch cannot go on, and `LedgerUnavailable`; a `KeyboardInterrupt` passes, and the
    batch goes on.
    """
    return _shown(batch.watch(), lambda view: (view,), ("",), console)


def watch_review(review: "Review", console: Console) -> ReviewView:
    """Watch a review, stage by stage, as `watch` does a batch."""
    return _shown(review.watch(), lambda view: view.stages, review.status().planned, console)


def _shown(
    views: Iterable[View], stages_of: Callable[[View], Sequence[BatchView]], names: Sequence[str], console: Console
) -> View:
    with _bars(names, console) if console.is_terminal else nullcontext(_lines(names, console)) as show:
        for view in views:
            show(stages_of(view))
    return view


@contextmanager
def _bars(names: Sequence[str], console: Console) -> Iterator[Show]:
    """A bar for each stage."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn())
    with Progress(*columns, TextColumn("{task.fields[detail]}"), console=console) as progress:
        bars = [progress.add_task(name, total=None, detail="") for name in names]

        def show(stages: Sequence[BatchView]) -> None:
            for bar, stage in zip(bars, stages, strict=False):
                done, total = stage.counts.finished, stage.counts.n_items
                progress.update(bar, completed=done, total=total, detail=detail(stage))

        yield show


def _lines(names: Sequence[str], console: Console) -> Show:
    """A line for every tenth of a stage, and where it is paused or begins to wait."""
    printed: dict[str, tuple[float, bool, str | None]] = {}  # share, paused, waits for

    def show(stages: Sequence[BatchView]) -> None:
        for name, stage in zip(names, stages, strict=False):
            share = stage.counts.finished / max(1, stage.counts.n_items)
            before, paused, waited_for = printed.get(stage.id, (-1.0, False, None))
            if (
                share - before >= LINE_EVERY
                or (stage.state.terminal and share > before)
                or (stage.pause and not paused)
                or (stage.waits_for is not None and stage.waits_for != waited_for)
            ):
                printed[stage.id] = share, stage.pause is not None, stage.waits_for
                of = f"{name}: " if name else ""
                console.print(f"{of}{stage.counts.finished}/{stage.counts.n_items} {detail(stage)}")

    return show


def detail(view: BatchView) -> str:
    """Return what stands beside the count: failed, rate, time to go, tokens; or what it waits for."""
    parts = [state_words(view)] if view.state.value not in ("running", "pending") else []
    if view.pause is not None:
        parts = [f"[yellow]paused: {view.pause.kind.value}[/]" if view.pause.by_itself else paused(view.id, view.pause)]
    if view.counts.failed and not view.lacks_decisions:
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


def state_words(view: BatchView) -> str:
    """Return, with markup, the state of a batch; of one that ended without all of its decisions, how many failed."""
    return f"[yellow]ended, {view.counts.failed:,} failed[/]" if view.lacks_decisions else view.state.value


def say_paused(reason: BatchPaused) -> None:
    """Say why a batch that was followed cannot go on; what was decided so far is kept."""
    err.say(f"[bold red]tamis:[/] {escape(str(reason))}")


def paused(batch_id: str, pause: Pause) -> str:
    """Return, with markup, that a batch is paused, why, and the command that goes on."""
    reason = f": {pause.reason}" if pause.by_itself else ""
    return f"[yellow]paused{escape(reason)}[/]. {escape(pause.remedy(batch_id))}"
