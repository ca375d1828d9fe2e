"""The progress of a batch or a review (bars on a terminal, lines elsewhere), and the exit code at its end."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import typer
from rich.console import Console
from rich.markup import escape

from tamis_producer import Batch, BatchView, ReviewView
from tamis_schemas import BatchPaused, Counts, dollars

from .app import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, err, out
from .facts import facts_of, snapshot_change
from .json_document import print_json
from .render import paid, paused, print_snapshots, print_summary, say_failed, state_words
from .tables import short

if TYPE_CHECKING:
    from tamis_review.plans.reviews import Review

    from .submission import SubmissionOptions

LINE_EVERY = 0.1  # share of a batch per line, without a terminal

View = TypeVar("View")
Show: TypeAlias = Callable[[Sequence[BatchView]], None]


def attend(
    subject: "Batch | Review",
    submission: "SubmissionOptions",
    headline: str,
    *,
    more: Callable[[], dict[str, Any]] = dict,
    tell: Callable[[], object] = lambda: None,
) -> None:
    """Follow a submission, and exit with the code of its result.

    With the option `--detach`, do not follow the submission: print only its id or, with `--json`, its facts as JSON.

    Args:
        subject: the batch or the review.
        submission: the options of the command.
        headline: the first line for people.
        more: returns further facts for the JSON document that `--json` prints at the end.
        tell: prints further text after the summary, unless `--json` is set.
    """
    if submission.detach:
        if submission.as_json:
            print_json(facts_of(subject))
        else:
            typer.echo(subject.id)
        return
    console = err if submission.as_json else out
    console.print(headline)
    code = follow(subject, console, summarise=not submission.as_json)
    if not submission.as_json:
        tell()
    elif code != EXIT_INTERRUPTED:
        print_json(facts_of(subject) | more())
    raise typer.Exit(code)


def follow(subject: "Batch | Review", console: Console = out, *, summarise: bool = True) -> int:
    """Watch a batch or a review to its end, print its summary, and return the exit code."""
    try:
        if isinstance(subject, Batch):
            stages: Sequence[BatchView] = (watch(subject, console),)
            print_end = partial(_summarise, subject, stages[0].counts, console)
        else:
            review = watch_review(subject, console)
            stages, print_end = review.stages, partial(_summarise_review, subject, review, console)
    except KeyboardInterrupt:
        noun, command = ("batch", "status") if isinstance(subject, Batch) else ("review", "review status")
        watching = f"[bold]tamis {command} {subject.id} --watch[/]"
        console.print(f"\nDetached; the {noun} continues. Watch it with {watching}")
        return EXIT_INTERRUPTED
    except BatchPaused as reason:
        err.say(f"[bold red]tamis:[/] {escape(str(reason))}")
        return EXIT_FAILED
    if summarise:
        print_end()
    whole = all(stage.counts.failed == 0 and stage.counts.cancelled == 0 for stage in stages)
    return EXIT_OK if whole else EXIT_FAILED


def watch(batch: Batch, console: Console) -> BatchView:
    """Show a batch's progress until the batch ends, and return its last state.

    Raises `LedgerUnavailable` if the database does not answer, and `BatchPaused` if a person must correct something.
    After a `KeyboardInterrupt`, the batch continues.
    """
    return _shown(batch.watch(), lambda view: (view,), ("",), console)


def watch_review(review: "Review", console: Console) -> ReviewView:
    """Show a review's progress stage by stage, and return its last state.

    Raises `LedgerUnavailable`, and `BatchPaused` if a person must correct something.
    """
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
    """Yield a function that updates the progress bars, one for each stage."""
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
    """Return a function that prints a line when a stage advances by `LINE_EVERY`, ends, pauses or begins to wait."""
    printed: dict[str, tuple[float, bool, str | None]] = {}  # share, paused, reason to wait

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
    """Return the text that follows the count of a batch's items.

    The text has the failed items, the reason to wait, the rate, the time left, the tokens and the cost.
    """
    parts = [state_words(view)] if view.state.value not in ("running", "pending") else []
    if view.pause is not None:
        parts = [
            f"[yellow]paused: {view.pause.kind.value}[/]" if view.pause.needs_people else paused(view.id, view.pause)
        ]
    if view.counts.failed and not view.lacks_decisions:
        parts.append(f"[red]{view.counts.failed} failed[/]")
    if view.waits_for is not None:
        parts.append(f"[yellow]{escape(view.waits_for)}[/]")
    if view.rate:
        parts.append(f"{view.rate:.1f}/s")
    if not view.state.terminal and view.eta_seconds is not None:
        parts.append(f"{timedelta(seconds=round(view.eta_seconds))} to go")
    if tokens := view.prompt_tokens + view.completion_tokens:
        parts.append(f"{tokens:,} tokens")
    if view.budget is not None:
        parts.append(f"{dollars(view.budget.spent)} of {dollars(view.budget.max_cost)}")
    elif view.cost:
        parts.append(dollars(view.cost))
    return " · ".join(parts)


def _summarise(batch: Batch, counts: Counts, console: Console) -> None:
    if (summary := batch.summary()) is not None:
        print_summary(summary, console)
        print_snapshots(batch.id, snapshot_change(batch), console)
    console.print(f"[dim]tamis results {batch.id}[/] writes every decision with its reasons.")
    if counts.failed:
        say_failed(batch.id, console)


def _summarise_review(review: "Review", view: ReviewView, console: Console) -> None:
    for batch, stage in zip(review.stages(), view.stages, strict=True):
        console.print(f"\n[bold]{stage.operation}[/] [dim]{short(stage.id)}[/]")
        if (summary := batch.summary()) is not None:
            print_summary(summary, console)
            print_snapshots(batch.id, snapshot_change(batch), console)
    if view.state == "completed" and len(view.stages) < len(view.planned):
        console.print(f"\nNo record passed {view.stages[-1].operation}, so the later stages are empty.")
    if view.cost or view.unpriced:
        console.print(f"\n[dim]cost of all stages[/]  {paid(view.cost, view.unpriced)}")
    console.print(f"\n[dim]tamis report {review.id} -o report.html[/] writes the flow and every decision.")
