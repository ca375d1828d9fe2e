"""`tamis review`: runs a whole review from a plan, stage by stage."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from tamis_producer import ReviewView
from tamis_producer.runs.dry_run import Planned
from tamis_review import find_review, list_reviews, submit_review
from tamis_review.filter.identification import identify
from tamis_review.plans.plan_file import read_plan
from tamis_schemas import InvalidRequest, Item, ReviewPlan, dollars

from .app import app, out
from .connected import connected
from .dry_run import dry_run, rehearsal_facts
from .facts import review_facts
from .intake import BY_PLAN, reading_of, say_what_was_read
from .json_document import AsJson, print_json
from .progress import attend, follow
from .render import paid, paused, state_words
from .submission import SubmissionOptions, submitting, with_examples
from .tables import listing, short

reviews = app.group("review", "Run a review from a plan, stage by stage.")

ReviewId = Annotated[str, typer.Argument(metavar="ID", help="A review's id, or its first characters.")]


@reviews.command(examples=("tamis review run plan.yaml", "tamis review run plan.yaml --dry-run"))
@submitting("model", "idempotency_key", "keep_duplicates", "max_cost")
def run(
    submission: SubmissionOptions,
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The plan, YAML or JSON.")],
    again: Annotated[bool, typer.Option("--again", help="A new review, even with the same plan and records.")] = False,
) -> None:
    """Start or continue the review of a plan, and follow it to its end."""
    planned = read_plan(plan)
    criteria = planned.criteria if planned.initial_filter else None
    identified = identify(
        planned.sources,
        keep_duplicates=planned.keep_duplicates,
        initial_filter=criteria,
        known=submission.known(),
        **reading_of(strict=submission.strict, encoding=submission.encoding),
    )
    say_what_was_read(identified, BY_PLAN)
    if submission.dry_run:
        steered = planned.plan.steered(submission.steering).with_operations(with_examples)
        _rehearse(steered, identified.asked, submission)
        return
    with connected() as client:
        review = submit_review(
            client,
            planned.plan,
            identified.records,
            label=planned.title,
            exclusions=identified.exclusions,
            source=identified.sources,
            updates=submission.updates,
            use_cache=submission.use_cache,
            again=again,
            priority=submission.priority,
            callback=submission.callback,
            steering=submission.steering,
        )
        stages = " -> ".join(stage.name for stage in planned.plan.stages)
        attend(review, submission, f"review [bold]{review.id}[/]: {escape(stages)}")


@reviews.command(examples=("tamis review status 7c01 --watch", "tamis review status 7c01 --json"))
def status(
    review_id: ReviewId,
    watch: Annotated[bool, typer.Option("--watch", help="Follow the review to its end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the progress of a review, stage by stage."""
    if watch and as_json:
        raise InvalidRequest("--watch and --json cannot be combined")
    with connected() as client:
        review = find_review(client, review_id)
        if watch:
            raise typer.Exit(follow(review))
        view = review.status()
    if as_json:
        print_json(review_facts(view))
    else:
        _print_view(view, out)


@reviews.command("list", examples=("tamis review list",))
def list_(
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
) -> Iterator[object]:
    """List the latest reviews."""
    with connected() as client:
        views = list_reviews(client, limit)
    yield [review_facts(view) for view in views]
    if not views:
        out.print("no reviews yet: `tamis review run PLAN` starts one")
        return
    table = listing("review", "started", "title", "state", "stage")
    for view in views:
        stage = f"{len(view.stages)} of {len(view.planned)}: {view.stages[-1].operation}"
        table.add_row(short(view.id), f"{view.created_at:%Y-%m-%d %H:%M}", escape(view.label), view.state, stage)
    out.print(table)


def _rehearse(plan: ReviewPlan, records: Sequence[Item], submission: SubmissionOptions) -> None:
    """Print the questions and the cost of each stage, as if all records passed the earlier stages.

    No cost is estimated for a stage that judges the results of earlier stages.
    """
    batches = [(stage, Planned.of_stage(stage, records, use_cache=submission.use_cache)) for stage in plan.stages]
    if submission.as_json:
        rehearsals = [
            {"stage": stage.name, "rehearsal": None if planned is None else rehearsal_facts(planned, stage.max_cost)}
            for stage, planned in batches
        ]
        print_json({"dry_run": True, "stages": rehearsals})
        return
    for number, (stage, planned) in enumerate(batches, 1):
        if planned is None:
            out.print("\n[bold]judge[/]: depends on the results of earlier stages, so there is no estimate")
            continue
        out.print(f"\n[bold]stage {number} of {len(plan.stages)}: {stage.name}[/]")
        note = None if number == 1 else "An upper limit, as if every record passed the earlier stages."
        dry_run(planned, max_cost=stage.max_cost, note=note)


def _print_view(view: ReviewView, console: Console) -> None:
    console.print(f"review {view.id}: {escape(view.label)}: {view.state}")
    numbers = ("items", "removed", "decided", "failed", "to do", "cost")
    table = listing("stage", "batch", "state", numbers=numbers)
    for stage in view.stages:
        counts = stage.counts
        to_do = counts.pending + counts.running
        cells = (counts.n_items, counts.excluded_by_filter, counts.decided, counts.failed, to_do)
        cost = dollars(stage.cost) if stage.cost or not stage.unpriced else "not known"
        table.add_row(stage.operation, short(stage.id), state_words(stage), *map(str, cells), cost)
    for name in view.planned[len(view.stages) :]:
        table.add_row(f"[dim]{name}[/]", "", "[dim]not started[/]")
    console.print(table)
    if view.cost or view.unpriced:
        console.print(f"[dim]cost so far[/]  {paid(view.cost, view.unpriced)}")
    if (pause := view.stages[-1].pause) is not None:
        console.print(paused(view.id, pause))
