"""`tamis batches` and `tamis status`: how batches stand, said without importing what submitting needs."""

from typing import Annotated

import typer

from tamis_producer.client.glance import glance
from tamis_schemas import InvalidRequest

from .app import app, out
from .facts import batch_facts, human_counts, view_facts
from .json_document import AsJson, print_json
from .render import print_humans, print_summary, print_traffic, print_view, print_views
from .rounds import print_rounds, say_failed


@app.command(examples=("tamis batches", "tamis batches --limit 5 --json", "tamis batches --services"))
def batches(
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    services: Annotated[bool, typer.Option("--services", help="Only the calls of services, by the hour.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the latest batches, and below them the calls of services in the last day."""
    with glance() as ledger:
        views = [] if services else ledger.batches(limit)
        traffic = ledger.service_traffic() if services or not as_json else []
    if as_json:
        print_json([one.model_dump(mode="json") for one in traffic] if services else [view_facts(one) for one in views])
        return
    if views:
        print_views(views, out)
    elif not services:
        out.print("no batches yet: `tamis screen FILE --criteria FILE` submits one")
    if traffic:
        print_traffic(traffic, out)
    elif services:
        out.print("no service was called in the last 24 hours")


@app.command(examples=("tamis status", "tamis status 3f2a91c0 --watch", "tamis status 3f2a91c0 --json"))
def status(
    batch_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="A batch's id, or how it begins; none: workers and open batches.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Follow the batch to its end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say how a batch stands; without an ID, which workers there are and which batches are open."""
    if watch and as_json:
        raise InvalidRequest("--watch and --json do not go together")
    if batch_id is None:
        if watch:
            raise InvalidRequest("--watch follows one batch: `tamis batches` lists their ids")
        from .workers import overview

        overview(as_json=as_json)
        return
    if watch:
        from tamis_producer.client.client import Client

        from .submit import follow

        with Client() as client:
            raise typer.Exit(follow(client.batch(batch_id)))
    with glance() as ledger:
        batch = ledger.batch(batch_id)
        if as_json:
            print_json(batch_facts(batch))
            return
        view, summaries, humans = batch.status(), batch.summaries(), human_counts(batch)
        print_view(view, out)
        print_rounds(summaries, view, out)
        if summaries and summaries[-1].round == view.round:  # those of earlier rounds are no longer how it stands
            print_summary(summaries[-1], out)
        if humans is not None:
            print_humans(batch.id, humans, out)
        if view.state.terminal and view.counts.failed:
            say_failed(batch.id, out)
