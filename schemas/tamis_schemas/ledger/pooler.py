"""PgBouncer before the ledger: `?pgbouncer=true` in its URL says that transactions are pooled.

Then the transactions of one connection go to many sessions of the server: nothing may be prepared there, no setting
may be given at the start, and nothing is listened to (LISTEN).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

MARK = "pgbouncer"
YES = ("true", "1", "yes", "on")


@dataclass(frozen=True)
class Address:
    """The address of the ledger, and whether transactions are pooled before it."""

    url: "URL"  # as the driver takes it
    pooled: bool


def address(database_url: str) -> Address:
    """The address that a URL names. Raises SQLAlchemy's `ArgumentError` where it is none."""
    from sqlalchemy import make_url

    url = make_url(database_url)
    mark = url.query.get(MARK)
    return Address(url.difference_update_query([MARK]), pooled=isinstance(mark, str) and mark.lower() in YES)


def session(where: Address, settings: dict[str, str]) -> dict[str, Any]:
    """The driver's arguments for sessions with these settings of the server, where they may be given at the start."""
    if where.pooled:
        return {"prepare_threshold": None}
    return {"options": start_options(settings)} if settings else {}


def start_options(settings: Mapping[str, str]) -> str:
    """These settings of the server, as a session is given them at its start."""
    return " ".join(f"-c {name}={value}" for name, value in settings.items())


def set_in_transactions(engine: "Engine", where: Address, settings: dict[str, str]) -> None:
    """Give each pooled transaction of an engine the settings that a session could not be given."""
    if not where.pooled or not settings:
        return
    from sqlalchemy import event, func, select

    @event.listens_for(engine, "begin")
    def _set(connection: "Connection") -> None:
        if connection.get_isolation_level() != "AUTOCOMMIT":
            connection.execute(select(*(func.set_config(name, value, True) for name, value in settings.items())))
