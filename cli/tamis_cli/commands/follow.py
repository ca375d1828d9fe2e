"""A batch or a review that is followed to its end: progress, summary, and the exit code that says how it went."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import typer
from rich.console import Console

from tamis_producer.client.batch import Batch
from tamis_producer.ledger.batch_view import BatchView, ReviewView
from tamis_review.plans.reviews import Review
from tamis_schemas import BatchPaused, Counts
from tamis_schemas.batches.wire import SHORT_ID

from .app import err, out
from .exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from .facts import facts_of
from .json_document import print_json
from .progress import say_paused, watch, watch_review
from .render import paid, print_summary, say_failed
from .submission import Submission


def attend(
    subject: Batch | Review,
    submission: Submission,
    headline: str,
    *,
    more: Callable[[], dict[str, Any]] = dict,
    tell: Callable[[], object] = lambda: None,
) -> None:
    """Follow what was submitted, and end the command with the exit code that says how it went.

    Detached, the command says the id alone, which a shell takes from there, or the facts as JSON.

    Args:
        subject: the batch or the review.
        submission: the options of the command.
        headline: what people read first.
        more: gives further facts of the JSON, once all is decided.
        tell: says what people read after the summary.
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


def follow(subject: Batch | Review, console: Console = out, *, summarise: bool = True) -> int:
    """Watch a batch or a review to its end, print its summary, and return the exit code that says how it went."""
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
        console.print(f"\nDetached; the {noun} goes on. Watch it with {watching}")
        return EXIT_INTERRUPTED
    except BatchPaused as reason:
        say_paused(reason)
        return EXIT_FAILED
    if summarise:
        print_end()
    whole = all(stage.counts.failed == 0 and stage.counts.cancelled == 0 for stage in stages)
    return EXIT_OK if whole else EXIT_FAILED


def _summarise(batch: Batch, counts: Counts, console: Console) -> None:
    if (summary := batch.summary()) is not None:
        print_summary(summary, console)
    console.print(f"[dim]tamis results {batch.id}[/] writes every decision with its reasons.")
    if counts.failed:
        say_failed(batch.id, console)


def _summarise_review(review: Review, view: ReviewView, console: Console) -> None:
    for batch, stage in zip(review.stages(), view.stages, strict=True):
        console.print(f"\n[bold]{stage.operation}[/] [dim]{stage.id[:SHORT_ID]}[/]")
        if (summary := batch.summary()) is not None:
            print_summary(summary, console)
    if view.state == "completed" and len(view.stages) < len(view.planned):
        console.print(f"\nNothing passed {view.stages[-1].operation}: the stages after it have no record.")
    if view.cost or view.unpriced:
        console.print(f"\n[dim]cost of all stages[/]  {paid(view.cost, view.unpriced)}")
    console.print(f"\n[dim]tamis report {review.id} -o report.html[/] shows the flow and every decision.")
