"""PgBouncer in front of the ledger: `?pgbouncer=true` in the ledger's URL means that transactions are pooled.

Then the transactions of one connection use many sessions of the server. So prepared statements, LISTEN and settings at
the start of a session are impossible.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

MARK = "pgbouncer"
DRIVER = "postgresql+psycopg"
POSTGRES = ("postgresql", "postgres")  # names in URLs
YES = ("true", "1", "yes", "on")
READABLE: Mapping[str, str] = {"client_encoding": "utf8"}  # texts, whatever the database's default is


@dataclass(frozen=True)
class Address:
    """The address of the ledger, and whether a pooler is in front of it."""

    url: "URL"  # in the driver's form
    pooled: bool


def address(database_url: str) -> Address:
    """Return the ledger's address from its URL, which may have another driver's form, such as `postgresql+asyncpg://`.

    Raises:
        ConfigurationError: the URL's database is not Postgres.
        ArgumentError: SQLAlchemy's error for an invalid URL.
    """
    from sqlalchemy import make_url

    url = make_url(database_url)
    if url.get_backend_name() not in POSTGRES:
        raise ConfigurationError(f"TAMIS_DATABASE_URL names {url.get_backend_name()}, but the ledger needs Postgres")
    url = url.set(drivername=DRIVER)
    mark = url.query.get(MARK)
    return Address(url.difference_update_query([MARK]), pooled=isinstance(mark, str) and mark.lower() in YES)


def session(where: Address, settings: dict[str, str]) -> dict[str, Any]:
    """Return the driver's arguments for sessions with these server settings. Pooled sessions get no settings."""
    if where.pooled:
        return {**READABLE, "prepare_threshold": None}
    return {**READABLE, "options": start_options(settings)} if settings else dict(READABLE)


def start_options(settings: Mapping[str, str]) -> str:
    """Return these server settings in the form for the start of a session."""
    return " ".join(f"-c {name}={value}" for name, value in settings.items())


def set_in_transactions(engine: "Engine", where: Address, settings: dict[str, str]) -> None:
    """Set these settings in each transaction of an engine behind a pooler. Without a pooler, do nothing.

    A pooled session cannot start with settings.
    """
    if not where.pooled or not settings:
        return
    from sqlalchemy import event, func, select

    @event.listens_for(engine, "begin")
    def _set(connection: "Connection") -> None:
        if connection.get_isolation_level() != "AUTOCOMMIT":
            connection.execute(select(*(func.set_config(name, value, True) for name, value in settings.items())))
