"""A single connection by psycopg, for commands that read once: without a pool, and without importing SQLAlchemy."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import psycopg
from psycopg.rows import namedtuple_row

from tamis_schemas import ConfigurationError
from tamis_schemas.ledger.driver_outages import driver_outage, driver_unusable
from tamis_schemas.ledger.pooler import READABLE, start_options

from .pool_kinds import ISO_TIMES, NOTICE_A_LOST_NETWORK, PoolKind

SCHEME = "postgresql+psycopg"
UNDEFINED_TABLE = "42P01"
# Options that a URL may have for this connection. Other options are for SQLAlchemy or the pooler.
PLAIN = frozenset({"host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "application_name"})


def driver_arguments(database_url: str) -> dict[str, str] | None:
    """Return the driver's arguments for a URL that the driver and SQLAlchemy read alike; None for any other URL.

    >>> driver_arguments("postgresql+psycopg://ann:p%40ss@db.example:5433/tamis")
    {'user': 'ann', 'password': 'p@ss', 'host': 'db.example', 'port': '5433', 'dbname': 'tamis'}
    """
    try:
        parts = urlsplit(database_url)
        query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        place = {
            "user": unquote(parts.username or ""),
            "password": unquote(parts.password or ""),
            "host": parts.hostname or "",
            "port": str(parts.port or ""),
            "dbname": parts.path.removeprefix("/"),
        }
    except ValueError:
        return None
    options = dict(query)
    several = len(options) < len(query) or any(mark in options.get("host", "") for mark in ",:")
    unusual = parts.netloc.count("@") > 1 or "%" in place["host"] or any(mark in place["dbname"] for mark in "/%;")
    if parts.scheme != SCHEME or parts.fragment or several or unusual or not options.keys() <= PLAIN:
        return None
    return {name: value for name, value in (place | options).items() if value}


class DirectConnection:
    """A connection that runs statements as text. A row has an attribute for each column."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def exec_driver_sql(self, statement: str, parameters: Mapping[str, Any], /) -> Iterable[Any]:
        """Run the statement, and return its rows."""
        return self._connection.execute(statement.encode(), parameters)


@contextmanager
def direct_connection(arguments: Mapping[str, str], kind: PoolKind) -> Iterator[DirectConnection]:
    """Yield a connection for reading. Its transaction is rolled back at the end.

    Raises:
        LedgerUnavailable: the ledger does not answer.
        ConfigurationError: the URL cannot be used, or the ledger has no tables.
    """
    usual = {"fallback_application_name": kind.name, "options": start_options(kind.limits)}
    try:
        settings = {**NOTICE_A_LOST_NETWORK, **READABLE, **usual, **arguments}
        connection = psycopg.connect(**settings, row_factory=namedtuple_row)
        try:
            if not str(connection.info.parameter_status("DateStyle")).startswith("ISO"):
                connection.execute(ISO_TIMES)
            yield DirectConnection(connection)
        finally:
            connection.close()
    except (psycopg.Error, OSError) as error:
        if (mapped := driver_outage(error) or driver_unusable(error) or no_tables(error)) is not None:
            raise mapped from error
        raise


def no_tables(error: BaseException | None) -> ConfigurationError | None:
    """Return the error for a missing table; None for any other error."""
    if getattr(error, "sqlstate", None) != UNDEFINED_TABLE:
        return None
    return ConfigurationError("the ledger has no tables yet: run `tamis migrate`")
