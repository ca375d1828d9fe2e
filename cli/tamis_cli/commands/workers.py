"""`tamis workers`, and what `tamis status` says without an id."""

from datetime import UTC, datetime, timedelta

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tamis_producer.client.glance import glance
from tamis_producer.ledger.batch_view import BatchView
from tamis_producer.ledger.worker_view import NO_WORKER, WorkerState, WorkerView
from tamis_schemas import LedgerUnavailable

from .app import app, out, say_error
from .exit_codes import EXIT_OK, EXIT_WRONG_USE
from .json_document import AsJson, print_json
from .next_step import next_step
from .render import print_views

OPEN_AMONG = 200  # the latest batches, of which the open ones are shown
DAY = timedelta(days=1)


@app.command(examples=("tamis workers", "tamis workers --json"))
def workers(as_json: AsJson = False) -> None:
    """List the workers that are there: what each does, and why, where it does nothing."""
    from tamis_producer.client.client import Client

    with Client() as client:
        views = client.workers()
    if as_json:
        print_json(views)
    else:
        print_workers(views, out, datetime.now(UTC))


def overview(*, as_json: bool) -> None:
    """Workers and open batches; the workers even while the ledger is away, which ends with the code of that."""
    away: LedgerUnavailable | None = None
    batches: list[BatchView] = []
    try:
        with glance() as ledger:
            views = ledger.workers()
            batches = [view for view in ledger.batches(OPEN_AMONG) if not view.finished]
    except LedgerUnavailable as error:
        from tamis_producer.client.client import Client  # which asks Redis, too

        away = error
        with Client() as client:
            views = client.workers()
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
        if (step := next_step(away, "status")) is not None:
            away.add_note(step)
        say_error(away)
    raise typer.Exit(EXIT_WRONG_USE if away else EXIT_OK)


def print_workers(views: list[WorkerView], console: Console, now: datetime) -> None:
    """Workers, a line each."""
    if not views:
        console.print(f"[yellow]{NO_WORKER}[/]")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("worker", "since", "version"):
        table.add_column(name, no_wrap=True)
    table.add_column("in flight", justify="right")
    table.add_column("progress", no_wrap=True)
    table.add_column("state", overflow="fold")
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
    """By the reader's own clock; with the day where it was another one."""
    local = at.astimezone()
    return f"{local:%H:%M}" if now - at < DAY / 2 else f"{local:%Y-%m-%d %H:%M}"


def _ago(age: timedelta) -> str:
    seconds = max(0, round(age.total_seconds()))
    if seconds < 60:
        return f"{seconds} s ago"
    return f"{seconds // 60} min ago" if seconds < 3600 else f"{seconds // 3600} h ago"
