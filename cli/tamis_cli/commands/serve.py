"""`tamis serve` and `tamis keys`: the HTTP gateway and its keys."""

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import ApiKey, Restrictions, Scope
from tamis_producer.ledger import GATEWAY
from tamis_producer.runs.dry_run import Planned, Rehearsal
from tamis_producer.submission.budget import amount_of
from tamis_schemas import InvalidRequest, dollars
from tamis_schemas.extras import needs

from .app import app, out
from .arguments import KeyId, callback_of
from .connected import connected
from .tables import listing

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model", metavar="M", help="A model that the key's batches may use. Repeatable.", show_default="any"
    ),
]
MonthlyCost = Annotated[
    str | None,
    typer.Option(
        metavar="AMOUNT", help="The most dollars for the key's batches in a calendar month.", show_default="no limit"
    ),
]
CallbackUrl = Annotated[
    str | None,
    typer.Option(
        "--callback", metavar="URL", help="The receiver of webhooks about the key's batches.", show_default="none"
    ),
]

DROPPED_BY = {"models": "--any-model", "monthly_cost": "--no-monthly-cost", "callback": "--no-callback"}

keys = app.group("keys", "Manage the keys of the HTTP gateway.")


@app.command(examples=("tamis serve", "tamis serve --host 0.0.0.0 --port 8080"))
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 for all networks.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8080,
) -> None:
    """Run the HTTP gateway in the foreground, until Ctrl-C."""
    with needs("http"):
        from tamis_producer.gateway.server import serve as run
        from tamis_review.page.application import Screening

    def ready() -> None:
        out.say(f"the gateway listens at http://{host}:{port} with its page; [bold]tamis keys create[/] creates a key")

    with Client(pool=GATEWAY) as client:
        run(client, host=host, port=port, ready=ready, application=Screening(_rehearsed))


def _rehearsed(planned: Planned) -> Rehearsal:
    from .dry_run import rehearsed  # imports the workers' modules, which the gateway needs only for a dry run

    return rehearsed(planned)


@keys.command(examples=('tamis keys create "Reviewer A" --scope read --scope decide',))
def create(
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The key's owner, for example a reviewer.")],
    scope: Annotated[
        list[Scope] | None, typer.Option(help="A right of the key. Repeatable.", show_default="read")
    ] = None,
    model: Models = None,
    monthly_cost: MonthlyCost = None,
    callback: CallbackUrl = None,
) -> Iterator[object]:
    """Create a key and print it. It cannot be shown again."""
    restrictions = _restrictions(models=model, monthly_cost=monthly_cost, callback=callback)
    with connected() as client:
        key = api_keys.create(client.engine, label, scope or [Scope.READ], restrictions)
    chosen = restrictions.model_dump(mode="json", exclude_unset=True)
    yield {"key": key, "label": label.strip(), "scopes": sorted({*(scope or [Scope.READ])})} | chosen
    typer.echo(key)


@keys.command("list", examples=("tamis keys list",))
def list_keys() -> Iterator[object]:
    """List all keys, without their secret parts."""
    with connected() as client:
        listed = api_keys.read_all(client.engine)
    yield listed
    table = listing("key", "owner", "scopes", "models", "per month", "callback", "created", "revoked")
    for key in listed:
        revoked = "" if key.revoked_at is None else f"{key.revoked_at:%Y-%m-%d %H:%M}"
        table.add_row(
            *(key.id, escape(key.label), ", ".join(sorted(key.scopes)), *_restricted(key)),
            *(f"{key.created_at:%Y-%m-%d %H:%M}", revoked),
        )
    out.print(table if listed else "no keys yet: [bold]tamis keys create LABEL[/] creates one")


@keys.command(
    examples=(
        "tamis keys change 1f9c02 --model gpt-5-mini --monthly-cost 20",
        "tamis keys change 1f9c02 --any-model --no-monthly-cost",
    )
)
def change(
    key: KeyId,
    model: Models = None,
    any_model: Annotated[bool, typer.Option("--any-model", help="Allow every model.")] = False,
    monthly_cost: MonthlyCost = None,
    no_monthly_cost: Annotated[bool, typer.Option("--no-monthly-cost", help="Remove the spending limit.")] = False,
    callback: CallbackUrl = None,
    no_callback: Annotated[bool, typer.Option("--no-callback", help="Remove the callback.")] = False,
) -> Iterator[object]:
    """Change a key's models, spending limit and callback."""
    drops = {"models": any_model, "monthly_cost": no_monthly_cost, "callback": no_callback}
    dropped = [name for name, drop in drops.items() if drop]
    restrictions = _restrictions(models=model, monthly_cost=monthly_cost, callback=callback, dropped=dropped)
    with connected() as client:
        changed = api_keys.change(client.engine, key, restrictions)
    yield changed
    models, money, callback_shown = _restricted(changed)
    out.print(f"key {changed.id}: models {models}; per month {money}; callback {callback_shown}")


@keys.command(examples=("tamis keys revoke 1f9c02",))
def revoke(key: KeyId) -> Iterator[object]:
    """Revoke a key."""
    with connected() as client:
        api_keys.revoke(client.engine, key)
    yield {"id": key, "revoked": True}
    out.print(f"key {key} is revoked", markup=False)


def _restrictions(
    *,
    models: Collection[str] | None,
    monthly_cost: str | None,
    callback: str | None,
    dropped: Sequence[str] = (),
) -> Restrictions:
    """Return a key's new restrictions. A restriction named in `dropped` is set to None, which removes it.

    Raises `InvalidRequest` if a restriction is dropped and has a new value.
    """
    chosen: dict[str, Any] = {}
    if models:
        chosen["models"] = tuple(models)
    if monthly_cost is not None:
        chosen["monthly_cost"] = amount_of(monthly_cost, name="--monthly-cost")
    if callback is not None:
        chosen["callback"] = callback_of(callback, "--callback")
    if twice := [name for name in dropped if name in chosen]:
        raise InvalidRequest(f"{DROPPED_BY[twice[0]]} cannot be combined with a new value")
    return Restrictions(**dict.fromkeys(dropped), **chosen)


def _restricted(key: ApiKey) -> tuple[str, str, str]:
    """Return the models, the spending limit and the callback of a key, as texts for people."""
    models = "any" if key.models is None else ", ".join(key.models)
    money = "no limit" if key.monthly_cost is None else dollars(key.monthly_cost)
    return escape(models), money, "none" if key.callback is None else escape(key.callback.url)
