"""`tamis serve` and `tamis keys`: the HTTP gateway and who may use it."""

from typing import Annotated

import typer
from rich.table import Table

from .. import api_keys
from ..api_keys import Scope
from ..client import Client
from ..extras import needs
from ..ledger import GATEWAY
from .app import app, out
from .commands import Commands, Theme
from .json_document import AsJson, print_json

keys = Commands(help="Keys of the HTTP gateway.", no_args_is_help=True)
app.add_typer(keys, name="keys", rich_help_panel=Theme.RUN)


@app.command(theme=Theme.RUN, examples=("tamis serve", "tamis serve --host 0.0.0.0 --port 8080"))
def serve(
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 for every network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8080,
) -> None:
    """Answer HTTP requests: the gateway, in the foreground, until Ctrl-C."""
    with needs("http"):
        from ..gateway.server import serve as run

    def ready() -> None:
        out.print(
            f"the gateway listens at http://{host}:{port} and has a page there; [bold]tamis keys create[/] makes a key",
            highlight=False,
            soft_wrap=True,
        )

    with Client(pool=GATEWAY) as client:
        run(client, host=host, port=port, ready=ready)


@keys.command(examples=('tamis keys create "Reviewer A" --scope read --scope decide',))
def create(
    label: Annotated[str, typer.Argument(metavar="LABEL", help="Whose it is, for example a reviewer's name.")],
    scope: Annotated[
        list[Scope] | None, typer.Option(help="What it allows; may be given several times.", show_default="read")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and print it; it cannot be shown again."""
    with Client() as client:
        key = api_keys.create(client.engine, label, scope or [Scope.READ])
    if as_json:
        print_json({"key": key, "label": label.strip(), "scopes": sorted({*(scope or [Scope.READ])})})
    else:
        typer.echo(key)


@keys.command("list", examples=("tamis keys list",))
def list_keys(as_json: AsJson = False) -> None:
    """Say which keys there are; none of them can be read."""
    with Client() as client:
        found = api_keys.read_all(client.engine)
    if as_json:
        print_json(found)
        return
    table = Table("key", "whose", "allows", "made", "revoked", box=None, pad_edge=False)
    for key in found:
        revoked = "" if key.revoked_at is None else f"{key.revoked_at:%Y-%m-%d %H:%M}"
        table.add_row(key.id, key.label, ", ".join(sorted(key.scopes)), f"{key.created_at:%Y-%m-%d %H:%M}", revoked)
    out.print(table if found else "there are no keys: [bold]tamis keys create LABEL[/]")


@keys.command(examples=("tamis keys revoke 1f9c02",))
def revoke(
    key: Annotated[str, typer.Argument(metavar="KEY", help="As `tamis keys list` names it.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Let a key open nothing any more."""
    with Client() as client:
        api_keys.revoke(client.engine, key)
    if as_json:
        print_json({"id": key, "revoked": True})
        return
    out.print(f"key {key} opens nothing any more", highlight=False, markup=False)
