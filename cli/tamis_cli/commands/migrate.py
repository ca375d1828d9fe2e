"""`tamis migrate`: creates or upgrades the ledger's tables, and the database roles that may use them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tamis_schemas import ConfigurationError
from tamis_worker.config.settings import WorkerSettings

from .app import app, out

RoleFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="A file with the URL of their role, which is created if missing and gets the least rights."
    ),
]


@app.command(examples=("tamis migrate", "tamis migrate --worker-url worker_url --gateway-url gateway_url"))
def migrate(worker_url: RoleFile = None, gateway_url: RoleFile = None) -> Iterator[object]:
    """Create or upgrade the ledger's tables, and the roles of workers and gateway if you give their URLs."""
    from tamis_schemas.ledger.migrate import upgrade
    from tamis_schemas.ledger.revisions import head
    from tamis_schemas.ledger.rights import GATEWAY, WORKER, grant

    owner = WorkerSettings.load().database
    upgrade(owner)
    files = ((worker_url, WORKER), (gateway_url, GATEWAY))
    roles = [grant(owner, _text_of(path), rights) for path, rights in files if path is not None]
    yield {"revision": head(), "roles": roles}
    out.print(f"the ledger is at revision {head()}")
    for role in roles:
        out.print(f"the role {role} has its rights", markup=False)


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise ConfigurationError(f"{path}: the URL of a role cannot be read: {why}") from error
