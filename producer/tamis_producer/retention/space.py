"""The space that the ledger takes on the disk, and how it is given back to it."""

from dataclasses import dataclass
from typing import Any

from psycopg import sql
from sqlalchemy import Engine, Table, func, select

from tamis_schemas.ledger import metadata

from ..ledger import ledger_errors


@dataclass(frozen=True)
class Space:
    """The bytes of the ledger's tables, with their indexes and what is free in them."""

    bytes: int


def space_taken(engine: Engine) -> Space:
    """Return the space that the tables take on the disk now. Raises `LedgerUnavailable`."""
    with ledger_errors(), engine.connect() as connection:
        total = sum(
            connection.execute(select(func.pg_total_relation_size(func.to_regclass(table.name)))).scalar_one() or 0
            for table in metadata.sorted_tables
        )
    return Space(total)


def give_back(engine: Engine) -> Space:
    """Write every table anew without the space that is free in it; what the tables take afterwards.

    Nobody reads or writes a table meanwhile: VACUUM FULL locks it. Who does not own the tables changes nothing.
    Raises `LedgerUnavailable`.
    """
    with ledger_errors(), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        driver: Any = connection.connection.driver_connection
        for table in metadata.sorted_tables:
            driver.execute(_rewrite(table))
    return space_taken(engine)


def _rewrite(table: Table) -> sql.Composed:
    return sql.SQL("VACUUM (FULL, ANALYZE) {}").format(sql.Identifier(table.name))
