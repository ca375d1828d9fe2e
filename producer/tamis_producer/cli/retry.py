"""`tamis retry` and `tamis failures`: ask about failed items again, and see what failed."""

import json
import sys
from decimal import Decimal
from typing import Annotated

import typer
from rich.markup import escape

from tamis_schemas import InvalidRequest, dollars
from tamis_schemas.wire import SHORT_ID

from .. import rounds
from ..batch import Batch
from ..budget import amount_of
from ..client import Client
from ..review import Review
from ..rounds import Retryable
from .app import EXIT_FAILED, app, out
from .rounds import print_failures
from .submit import follow


@app.command()
def retry(
    batch_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="A batch's id, or how it begins.", show_default=False)
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="KINDS",
            help="Only what failed so: timeout, or timeout,connection; repeatable.  [dim]default: all[/]",
            show_default=False,
        ),
    ] = None,
    cancelled: Annotated[bool, typer.Option("--cancelled", help="What was cancelled as well.")] = False,
    max_cost: Annotated[
        str | None,
        typer.Option("--max-cost", help="A new budget in dollars, of a batch that has one.", show_default=False),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch/--no-watch", help="Follow the batch to its end.")] = False,
    all_failed: Annotated[bool, typer.Option("--all-failed", help="Every completed batch with failures.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --all-failed: do not ask.")] = False,
) -> None:
    """Ask about the failed items of a batch once more, in a new round; nothing that is decided changes."""
    kinds = None if kind is None else [name.strip() for given in kind for name in given.split(",") if name.strip()]
    rounds.kinds_of(kinds)  # a wrong name is told before anything is looked up
    amount = None if max_cost is None else amount_of(max_cost)
    if (batch_id is None) != all_failed:
        raise InvalidRequest("name one batch, or say --all-failed: `tamis retry ID` or `tamis retry --all-failed`")
    if all_failed and (cancelled or amount is not None or watch):
        raise InvalidRequest("--cancelled, --max-cost and --watch are of one batch: `tamis retry ID ...`")
    with Client() as client:
        if batch_id is None:
            code = _all_failed(client, kinds, ask=not yes)
        else:
            code = _one(_batch(client, batch_id), kinds, cancelled=cancelled, max_cost=amount, watch=watch)
    raise typer.Exit(code)


@app.command()
def failures(
    batch_id: Annotated[str, typer.Argument(metavar="ID", help="A batch's id, or how it begins.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say what failed in each round of a batch, and whether it depends on length, year or neighbours."""
    with Client() as client:
        batch = _batch(client, batch_id)
        bias = batch.failures()
        failed = batch.status().counts.failed
    if as_json:
        typer.echo(json.dumps({"id": batch.id, **bias.model_dump(mode="json")}, ensure_ascii=False))
        return
    if not bias.rounds:
        out.print(f"batch {batch.id}: no item failed.", highlight=False, soft_wrap=True)
        return
    print_failures(bias, out)
    if failed:
        out.print(
            f"\n[bold]tamis retry {batch.id}[/] asks about {_items(failed)} again.", highlight=False, soft_wrap=True
        )


def _batch(client: Client, of: str) -> Batch:
    found = client.batch_or_review(of)
    if isinstance(found, Review):
        stages = ", ".join(f"{view.id[:SHORT_ID]} ({view.operation})" for view in found.status().stages)
        raise InvalidRequest(f"{of} is a review: name the batch of one of its stages, which are {stages}")
    return found


def _one(batch: Batch, kinds: list[str] | None, *, cancelled: bool, max_cost: Decimal | None, watch: bool) -> int:
    count = batch.retry(kinds, cancelled=cancelled, max_cost=max_cost)
    view = batch.status()
    next_command = "" if watch else f" [bold]tamis status {batch.id} --watch[/] follows it."
    out.print(
        f"batch {batch.id}: round {view.round} asks about {_items(count)}.{next_command}",
        soft_wrap=True,
        highlight=False,
    )
    if batch.later_stage():
        out.print(
            "The next stage of its review has begun: what this round lets pass does not follow into it.",
            soft_wrap=True,
        )
    return follow(batch) if watch else 0


def _all_failed(client: Client, kinds: list[str] | None, *, ask: bool) -> int:
    found = client.retryable(kinds)
    if not found:
        out.print("no completed batch has failed items" + (" of this kind" if kinds else ""))
        return 0
    if ask and sys.stdin.isatty() and out.is_terminal and not typer.confirm(f"Retry {_measure(found)}?"):
        return EXIT_FAILED
    refused = False
    for done in client.retry_all_failed(kinds):
        if done.refused is None:
            out.print(f"batch {done.batch.id}: {_items(done.items)} again", soft_wrap=True, highlight=False)
        else:
            refused = True
            out.print(f"[red]not retried:[/] {escape(done.refused)}", soft_wrap=True, highlight=False)
    return EXIT_FAILED if refused else 0


def _measure(found: list[Retryable]) -> str:
    """`12 items of 2 batches, about $0.04`."""
    items, many = sum(one.items for one in found), len(found)
    known = [one.likely_cost for one in found if one.likely_cost is not None]
    cost = f"about {dollars(sum(known[1:], known[0]))}" if known else "at a cost that is not known"
    if known and len(known) < many:
        cost += ", and more for batches whose prices are not known"
    batches = "1 batch" if many == 1 else f"{many:,} batches"
    return f"{_items(items)} of {batches}, {cost}"


def _items(n: int) -> str:
    return "1 item" if n == 1 else f"{n:,} items"
