"""`tamis pause`, `resume`, `cancel` and `priority` for a batch or a review, and `unblock` for a model."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer import Batch, ProducerSettings
from tamis_producer.submission.budget import amount_of
from tamis_producer.transport.blocks import block_words, lift_blocks, read_blocks
from tamis_review import Review
from tamis_schemas import InvalidRequest, Priority

from .app import app, out
from .arguments import NewBudget
from .facts import facts_of
from .opened import chosen
from .tables import counted

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a batch or review, or its first characters.")]


@app.command(examples=("tamis pause 3f2a91c0",))
def pause(of: Id) -> Iterator[object]:
    """Pause a batch or review: start no new item, and finish calls in flight. `tamis resume` continues it."""
    with chosen(of) as subject:
        subject.pause()
        yield from _said(subject, "is paused; calls in flight finish", f"tamis resume {subject.id}", "continues it")


@app.command(examples=("tamis resume 3f2a91c0", "tamis resume 3f2a91c0 --max-cost 5"))
def resume(of: Id, max_cost: NewBudget = None) -> Iterator[object]:
    """Continue a paused batch or review. If its budget is used up, give a new one."""
    amount = None if max_cost is None else amount_of(max_cost)
    with chosen(of) as subject:
        subject.resume(amount)
        command = "tamis status" if isinstance(subject, Batch) else "tamis review status"
        yield from _said(subject, "continues", f"{command} {subject.id} --watch", "follows it")


@app.command(examples=("tamis cancel 3f2a91c0",))
def cancel(of: Id) -> Iterator[object]:
    """Cancel the remaining items of a batch or review. Finish calls in flight, and keep all results."""
    with chosen(of) as subject:
        subject.cancel()
        command, done = "tamis review status", "is cancelled; calls in flight finish"
        if isinstance(subject, Batch):
            command, counts = "tamis results", subject.status().counts
            kept = f"{counts.decided:,} decided and {counts.failed:,} failed are kept"
            unasked = counted(counts.cancelled, "record is", "records are")
            done = f"is cancelled: {unasked} not asked about, {kept}, calls in flight finish"
        yield from _said(subject, done, f"{command} {subject.id}", "shows the decisions")


@app.command(examples=("tamis unblock gpt-5-mini",))
def unblock(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Its name, as `tamis doctor` shows it.")],
) -> Iterator[object]:
    """Call a model at once, although its endpoint asked to wait. Workers follow within seconds."""
    limiter = ProducerSettings.load().limiter
    lifted = lift_blocks(limiter, [model])
    if not lifted:
        others = read_blocks(limiter)
        blocked = block_words(others) if others else "no model is blocked, and `tamis status` shows why work waits"
        raise InvalidRequest(f"{model!r} is not blocked: {blocked}")
    yield [{"model": block.model, "until": block.until} for block in lifted]
    out.say(f"[bold]{escape(model)}[/] is no longer blocked. Workers follow within seconds.")


@app.command(examples=("tamis priority 3f2a91c0 high",))
def priority(
    of: Id,
    level: Annotated[Priority, typer.Argument(metavar="LEVEL", help="The priority.")],
) -> Iterator[object]:
    """Set the priority of a batch or review. All workers apply it within seconds."""
    with chosen(of) as subject:
        subject.set_priority(level)
        command = "tamis status" if isinstance(subject, Batch) else "tamis review status"
        done = f"has priority {level.value} from now on"
        yield from _said(subject, done, f"{command} {subject.id}", "shows its progress")


def _said(subject: Batch | Review, what: str, command: str, does: str) -> Iterator[object]:
    yield partial(facts_of, subject)
    noun = "batch" if isinstance(subject, Batch) else "review"
    out.say(f"{noun} {subject.id} {what}. [bold]{command}[/] {does}.")
