"""The commands `tamis batches`, `tamis status` and `tamis workers`. They avoid the slow imports of submission."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from tamis_producer.ledger.batch_view import BatchView
from tamis_producer.ledger.worker_view import NO_WORKER, WorkerState, WorkerView
from tamis_schemas import Blinded, InvalidRequest, LedgerUnavailable

from .app import app, out
from .connected import connected, glanced
from .facts import batch_facts, people_counts, snapshot_change, view_facts
from .json_document import AsJson, print_json
from .render import (
    print_humans,
    print_rounds,
    print_snapshots,
    print_summary,
    print_traffic,
    print_view,
    print_views,
    say_failed,
)
from .tables import listing

OPEN_AMONG = 200  # latest batches to search for open ones
DAY = timedelta(days=1)


@app.command(examples=("tamis batches", "tamis batches --limit 5 --json", "tamis batches --services"))
def batches(
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    services: Annotated[bool, typer.Option("--services", help="Only service calls, by the hour.")] = False,
) -> Iterator[object]:
    """List the latest batches, then the service calls of the last day."""
    with glanced() as ledger:
        views = [] if services else ledger.batches(limit)
        if not services:
            yield lambda: [view_facts(view) for view in views]
        traffic = ledger.service_traffic()
    if services:
        yield traffic
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
        str | None, typer.Argument(metavar="ID", help="A batch's id, or its first characters; else an overview.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Follow the batch to its end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the progress of a batch. Without an ID, show workers and open batches."""
    if watch and as_json:
        raise InvalidRequest("--watch and --json cannot be combined")
    if batch_id is None:
        if watch:
            raise InvalidRequest("--watch needs the ID of a batch: `tamis batches` lists them")
        _overview(as_json=as_json)
        return
    if watch:
        from .progress import follow

        with connected() as client:
            raise typer.Exit(follow(client.batch(batch_id)))
    with glanced() as ledger:
        batch = ledger.batch(batch_id)
        if as_json:
            print_json(batch_facts(batch))
            return
        view = batch.status()
        try:
            summaries, (humans, team) = batch.summaries(), people_counts(batch)
        except Blinded as hidden:
            print_view(view, out)
            out.say(escape(str(hidden)))
            return
        print_view(view, out, team)
        print_rounds(summaries, view, out)
        if summaries and summaries[-1].round == view.round:  # summaries of earlier rounds are outdated
            print_summary(summaries[-1], out)
            print_snapshots(batch.id, snapshot_change(batch), out)
        if humans is not None:
            print_humans(batch.id, humans, out)
        if view.state.terminal and view.counts.failed:
            say_failed(batch.id, out)


@app.command(examples=("tamis workers", "tamis workers --json"))
def workers() -> Iterator[object]:
    """List the workers with their states, and the reason if one does nothing."""
    views, _, _ = _glance(with_batches=False)
    yield views
    print_workers(views, out, datetime.now(UTC))


def _glance(*, with_batches: bool) -> tuple[list[WorkerView], list[BatchView], LedgerUnavailable | None]:
    """Return the live workers, the open batches if wanted, and the error if the ledger does not answer."""
    away: LedgerUnavailable | None = None
    batches: list[BatchView] = []
    try:
        with glanced() as ledger:
            views = ledger.workers()
            if with_batches:
                batches = [view for view in ledger.batches(OPEN_AMONG) if not view.finished]
    except LedgerUnavailable as error:
        away, views = error, []
    if not views:  # the client also reads the workers' reports in Redis
        with connected() as client:
            views = client.workers()
    return views, batches, away


def _overview(*, as_json: bool) -> None:
    """Print workers and open batches.

    If the ledger does not answer, print only the workers, and raise `LedgerUnavailable`.
    """
    views, batches, away = _glance(with_batches=True)
    if as_json:
        print_json({"workers": views, "open_batches": batches})
    else:
        print_workers(views, out, datetime.now(UTC))
        if batches:
            out.print()
            print_views(batches, out)
        elif away is None:
            out.print("no batch is open; `tamis batches` lists the latest")
    if away is not None:
        raise away


def print_workers(views: list[WorkerView], console: Console, now: datetime) -> None:
    """Print a table with a line for each worker, or a message if there is no worker."""
    if not views:
        console.print(f"[yellow]{NO_WORKER}[/]")
        return
    table = listing("worker", "since", "version", "in flight", "progress", "state")
    for column in (*table.columns[:3], table.columns[4]):
        column.no_wrap = True
    table.columns[3].justify = "right"
    table.columns[5].overflow = "fold"
    for view in views:
        table.add_row(
            escape(f"{view.pid or '?'}@{view.host or '?'}"),
            _moment(view.started_at, now),
            view.version or "?",
            f"{'?' if view.in_flight is None else view.in_flight}/{view.concurrency or '?'}",
            "none yet" if view.progress_at is None else _ago(now - view.progress_at),
            _state(view, now),
        )
    console.print(table)


def _state(view: WorkerView, now: datetime) -> str:
    if view.state is WorkerState.WORKING:
        return view.state.value if view.in_flight else "ready: nothing to do"
    reason = f": {view.reason}" if view.reason else ""
    since = "" if view.state_since is None else f" since {_moment(view.state_since, now)}"
    return f"[yellow]{escape(f'{view.state.value}{reason}{since}')}[/]"


def _moment(at: datetime, now: datetime) -> str:
    """Return a time in this machine's time zone, with the date if the time is half a day ago or more."""
    local = at.astimezone()
    return f"{local:%H:%M}" if now - at < DAY / 2 else f"{local:%Y-%m-%d %H:%M}"


def _ago(age: timedelta) -> str:
    seconds = max(0, round(age.total_seconds()))
    if seconds < 60:
        return f"{seconds} s ago"
    return f"{seconds // 60} min ago" if seconds < 3600 else f"{seconds // 3600} h ago"
