"""The commands `tamis webhooks ...`: list webhooks, send them again, and test a receiver."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Restrictions
from tamis_producer.ledger import webhook_outbox as outbox
from tamis_producer.ledger.webhook_outbox import WebhookView
from tamis_producer.process.waiting import poll
from tamis_schemas.ledger.tables import WebhookState

from .app import EXIT_FAILED, EXIT_OK, app, out
from .arguments import CallbackUrl, KeyId, callback_of
from .connected import connected
from .json_document import AsJson, print_json
from .tables import counted, listing, short

webhooks = app.group("webhooks", "List webhooks, send them again, and test a receiver.")


@webhooks.command("list", examples=("tamis webhooks list", "tamis webhooks list --state given_up"))
def list_webhooks(
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    state: Annotated[WebhookState | None, typer.Option(help="Only this state.", show_default="all")] = None,
) -> Iterator[object]:
    """List the latest webhooks: state, tries, the receiver's last answer, and the time of the next try."""
    with connected() as client:
        views = outbox.read_all(client.engine, limit=limit, state=state)
    yield views
    if views:
        _print(views)
    else:
        out.print("no webhooks yet: [bold]--callback-url[/] of a command that submits sets their receiver")


@webhooks.command(examples=("tamis webhooks replay 3f2a91c0", "tamis webhooks replay 3f2a91c0 --json"))
def replay(
    which: Annotated[str, typer.Argument(metavar="ID", help="A webhook's id, or a batch's for all its webhooks.")],
) -> Iterator[object]:
    """Send a webhook again with the same id and body, even if it was delivered."""
    with connected() as client:
        views = outbox.replay(client.engine, which)
    yield views
    sent = f"{counted(len(views), 'webhook')} will be sent again within seconds"
    out.print(f"{sent}; [bold]tamis webhooks list[/] shows the answers")


@webhooks.command("test", examples=("tamis webhooks test https://hooks.example/tamis",))
def try_receiver(
    url: Annotated[str, typer.Argument(metavar="URL", help="The receiver's URL.")],
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for the first answer.")] = 30,
    as_json: AsJson = False,
) -> None:
    """Let a worker send a signed test webhook, and print the result. Exit code 0 means delivered."""
    callback = callback_of(url)
    with connected() as client:
        webhook_id = outbox.write_test(client.engine, callback)
        for view in poll(lambda: outbox.read_one(client.engine, webhook_id), wait):
            if view.last_said is not None:
                break
    if as_json:
        print_json(view)
    else:
        answer = view.last_said or f"no worker has sent it within {wait:g} s; `tamis webhooks list` shows its state"
        out.say(f"{view.state.value}: {answer}", markup=False)
    raise typer.Exit(EXIT_OK if view.state is WebhookState.DELIVERED else EXIT_FAILED)


@webhooks.command(
    "key",
    examples=("tamis webhooks key 1f9c02 --callback-url https://hooks.example/tamis", "tamis webhooks key 1f9c02"),
)
def of_key(
    key: KeyId,
    url: CallbackUrl = None,
) -> Iterator[object]:
    """Set the default receiver for a key's batches. Without a URL, remove this receiver."""
    callback = None if url is None else callback_of(url)
    with connected() as client:
        api_keys.change(client.engine, key, Restrictions(callback=callback))
    yield {"id": key, "callback": callback}
    out.say(f"receiver for batches of key {key}: {'none' if callback is None else callback.url}", markup=False)


def _print(views: list[WebhookView]) -> None:
    table = listing("webhook", "batch", "event", "receiver", "state", "last answer")
    for column in table.columns[:3]:
        column.no_wrap = True
    for column in table.columns[3:]:
        column.overflow = "fold"
    for view in views:
        batch = "" if view.batch_id is None else short(view.batch_id)
        again = "" if view.next_at is None or not view.tries else f", next {_moment(view.next_at)}"
        state = f"{view.state.value}, {view.tries} {'try' if view.tries == 1 else 'tries'}{again}"
        colour = {WebhookState.DELIVERED: "green", WebhookState.GIVEN_UP: "red"}.get(view.state, "yellow")
        last = "" if view.last_at is None else f"{_moment(view.last_at)} "
        table.add_row(
            short(view.id),
            batch,
            view.type,
            escape(view.url),
            f"[{colour}]{state}[/]",
            escape(f"{last}{view.last_said or ''}"),
        )
    out.print(table)


def _moment(at: datetime) -> str:
    return f"{at.astimezone():%m-%d %H:%M}"
