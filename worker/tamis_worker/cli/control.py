"""`tamis pause`, `resume`, `cancel` and `priority`: of a batch, or of the stage that a review is in."""

from typing import Annotated

import typer

from tamis_producer.client.batch import Batch
from tamis_producer.client.client import Client
from tamis_producer.client.review import Review
from tamis_producer.submission.budget import amount_of
from tamis_schemas import Priority

from .app import app, out
from .arguments import NewBudget
from .facts import facts_of
from .json_document import AsJson, print_json

Id = Annotated[str, typer.Argument(metavar="ID", help="A batch or a review, or how its id begins.", show_default=False)]


@app.command(examples=("tamis pause 3f2a91c0",))
def pause(of: Id, as_json: AsJson = False) -> None:
    """Begin no further item; calls in flight are finished, and `tamis resume` goes on."""
    with Client() as client:
        found = client.batch_or_review(of)
        found.pause()
        _say(found, "is paused; calls in flight are finished", f"tamis resume {found.id}", "goes on", as_json=as_json)


@app.command(examples=("tamis resume 3f2a91c0", "tamis resume 3f2a91c0 --max-cost 5"))
def resume(
    of: Id,
    max_cost: NewBudget = None,
    as_json: AsJson = False,
) -> None:
    """Go on with what was paused; with a new budget where the old one is used up."""
    amount = None if max_cost is None else amount_of(max_cost)
    with Client() as client:
        found = client.batch_or_review(of)
        found.resume(amount)
        command = "tamis status" if isinstance(found, Batch) else "tamis review status"
        _say(found, "goes on", f"{command} {found.id} --watch", "follows it", as_json=as_json)


@app.command(examples=("tamis cancel 3f2a91c0",))
def cancel(of: Id, as_json: AsJson = False) -> None:
    """End it: what has not begun is cancelled; calls in flight are finished, and results are kept."""
    with Client() as client:
        found = client.batch_or_review(of)
        found.cancel()
        command = "tamis results" if isinstance(found, Batch) else "tamis review status"
        done = "is cancelled; calls in flight are finished"
        _say(found, done, f"{command} {found.id}", "shows what was decided", as_json=as_json)


@app.command(examples=("tamis priority 3f2a91c0 high",))
def priority(
    of: Id,
    level: Annotated[Priority, typer.Argument(metavar="LEVEL", help="Who goes first.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Put it before, or behind, other batches; effective on all workers within seconds."""
    with Client() as client:
        found = client.batch_or_review(of)
        found.set_priority(level)
        command = "tamis status" if isinstance(found, Batch) else "tamis review status"
        done = f"has priority {level.value} from now on"
        _say(found, done, f"{command} {found.id}", "shows how it stands", as_json=as_json)


def _say(found: Batch | Review, what: str, command: str, does: str, *, as_json: bool) -> None:
    if as_json:
        print_json(facts_of(found))
        return
    noun = "batch" if isinstance(found, Batch) else "review"
    out.say(f"{noun} {found.id} {what}. [bold]{command}[/] {does}.")
