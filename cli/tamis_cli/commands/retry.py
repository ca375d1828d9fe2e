"""`tamis retry` asks again about failed items or a sample; `tamis failures` lists failures."""

import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer import Batch, Client
from tamis_producer.runs import rounds
from tamis_producer.runs.rounds import Retryable
from tamis_producer.submission.budget import amount_of
from tamis_review import has_later_stage, read_failures
from tamis_review.quality.repetition import ask_again, compare_again
from tamis_schemas import InvalidRequest, dollars
from tamis_schemas.records.random_order import seed_or_new

from .app import EXIT_FAILED, EXIT_OK, app, err, out
from .arguments import BatchId, NewBudget
from .connected import connected
from .facts import batch_facts
from .json_document import AsJson, print_json
from .opened import batch_of, opened
from .progress import follow
from .render import percent, print_failures
from .tables import counted, listing


@app.command(
    examples=(
        "tamis retry 3f2a91c0 --kind timeout,connection --watch",
        "tamis retry --all-failed --yes",
        "tamis retry 3f2a91c0 --sample 100 --seed 1 --watch",
    )
)
def retry(
    batch_id: Annotated[str | None, typer.Argument(metavar="ID", help="A batch's id, or its first characters.")] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="KINDS",
            help="Only failures of these kinds, such as timeout,connection. Repeatable.  [default: all]",
        ),
    ] = None,
    cancelled: Annotated[bool, typer.Option("--cancelled", help="Cancelled items as well.")] = False,
    max_cost: NewBudget = None,
    watch: Annotated[bool, typer.Option("--watch/--no-watch", help="Follow the batch to its end.")] = False,
    all_failed: Annotated[bool, typer.Option("--all-failed", help="Every completed batch with failures.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --all-failed: do not ask.")] = False,
    sample: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Instead, ask again about N random decided items, in a new batch."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="With --sample: the same seed is the same batch.  [default: a new one]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask again about the failed items of a batch, in a new round. Decided items do not change."""
    kinds = None if kind is None else [name.strip() for listed in kind for name in listed.split(",") if name.strip()]
    rounds.kinds_of(kinds)  # raises for an unknown kind before the ledger is read
    amount = None if max_cost is None else amount_of(max_cost)
    if (batch_id is None) != all_failed:
        raise InvalidRequest("name one batch: `tamis retry ID`; without a batch, only `tamis retry --all-failed` works")
    if sample is None and seed is not None:
        raise InvalidRequest("--seed draws a sample: add --sample N")
    if sample is not None and (all_failed or cancelled or kind is not None):
        raise InvalidRequest("--sample asks about decided items: omit --kind, --cancelled and --all-failed")
    if all_failed and (cancelled or amount is not None or watch):
        raise InvalidRequest("--cancelled, --max-cost and --watch are for one batch: `tamis retry ID ...`")
    with connected() as client:
        if batch_id is None:
            raise typer.Exit(_all_failed(client, kinds, ask=not yes, as_json=as_json))
        batch = batch_of(client, batch_id)
        if sample is not None:
            raise typer.Exit(_sample(client, batch, sample, seed_or_new(seed), amount, watch=watch, as_json=as_json))
        count = batch.retry(kinds, cancelled=cancelled, max_cost=amount)
        if as_json:
            code = follow(batch, err, summarise=False) if watch else EXIT_OK
            print_json({"retried": count} | batch_facts(batch))
            raise typer.Exit(code)
        next_command = "" if watch else f" [bold]tamis status {batch.id} --watch[/] follows it."
        out.say(f"batch {batch.id}: round {batch.status().round} asks about {counted(count, 'item')}.{next_command}")
        if has_later_stage(batch):
            out.say("The next stage of the review has begun. Records that pass in this round are not added to it.")
        raise typer.Exit(follow(batch) if watch else EXIT_OK)


@app.command(examples=("tamis failures 3f2a91c0",))
def failures(batch_id: BatchId) -> Iterator[object]:
    """Show the failures of each round of a batch, and whether they depend on length, year or neighbours."""
    with opened(batch_id) as batch:
        bias = read_failures(batch)
        failed = batch.status().counts.failed
    yield {"id": batch.id, **bias.model_dump(mode="json")}
    if not bias.rounds:
        out.say(f"batch {batch.id}: no item failed.")
        return
    print_failures(bias, out)
    if failed:
        out.say(f"\n[bold]tamis retry {batch.id}[/] asks about {counted(failed, 'item')} again.")


def _sample(
    client: Client, batch: Batch, n: int, seed: int, max_cost: Decimal | None, *, watch: bool, as_json: bool
) -> int:
    """Ask again about a random sample of a batch's items, in a new batch, and return the exit code.

    If the new batch is finished, compare its answers with those of `batch`.
    """
    again = ask_again(client, batch, n, seed=seed, max_cost=max_cost)
    command = f"tamis retry {batch.id} --sample {n} --seed {seed}"
    if not as_json:
        out.say(f"batch {again.id} asks again about {counted(again.status().counts.n_items, 'item')} of {batch.id}.")
    code = follow(again, err if as_json else out, summarise=False) if watch else EXIT_OK
    rows = compare_again(batch, again, n, seed=seed) if again.status().finished else []
    if as_json:
        print_json({"seed": seed, "agreement": rows} | batch_facts(again))
    elif not rows:
        out.say(f"[bold]{command} --watch[/] compares the answers.")
    else:
        names = ((escape(row.first or ""), escape(row.again or ""), percent(row.same)) for row in rows)
        out.print(listing("first answered by", "again by", "same answer", rows=names))
        out.say(f"[dim]seed {seed}: {command}[/] shows this again.")
    return code


def _all_failed(client: Client, kinds: list[str] | None, *, ask: bool, as_json: bool) -> int:
    """Retry the failed items (of the named kinds) of all completed batches, and return the exit code.

    With `ask`, a person at a terminal must first confirm the cost, even with `--json`. The question goes to standard
    error.
    """
    retryable = client.retryable(kinds)
    ask = ask and bool(retryable) and sys.stdin.isatty() and err.is_terminal
    agreed = not ask or typer.confirm(f"Retry {_measure(retryable)}?", err=True)
    retried = client.retry_all_failed(kinds) if retryable and agreed else []
    if as_json:
        print_json([{"id": row.batch.id, "retried": row.items, "refused": row.refused} for row in retried])
    elif not retryable:
        out.print("no completed batch has failed items" + (" of this kind" if kinds else ""))
    else:
        for outcome in retried:
            line = f"batch {outcome.batch.id} retries {counted(outcome.items, 'item')}"
            if outcome.refused is not None:
                line = f"[red]not retried:[/] {escape(outcome.refused)}"
            out.say(line)
    return EXIT_OK if agreed and all(outcome.refused is None for outcome in retried) else EXIT_FAILED


def _measure(retryable: list[Retryable]) -> str:
    """Return the size and the cost of a retry in words: `12 items of 2 batches, about $0.04`."""
    items, many = sum(batch.items for batch in retryable), len(retryable)
    costs = [batch.likely_cost for batch in retryable if batch.likely_cost is not None]
    cost = f"about {dollars(sum(costs[1:], costs[0]))}" if costs else "at an unknown cost"
    if costs and len(costs) < many:
        cost += ", plus batches with unknown prices"
    return f"{counted(items, 'item')} of {counted(many, 'batch', 'batches')}, {cost}"
