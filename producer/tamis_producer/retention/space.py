"""The space that the ledger takes on the disk, and how it is given back to it."""

from typing import Any

from psycopg import sql
from sqlalchemy import Engine, func, select

from tamis_schemas.ledger import metadata

from ..ledger import ledger_errors


def space_taken(engine: Engine) -> int:
    """Return the bytes of the tables now, with their indexes and what is free in them. Raises `LedgerUnavailable`."""
    with ledger_errors(), engine.connect() as connection:
        return sum(
            connection.execute(select(func.pg_total_relation_size(func.to_regclass(table.name)))).scalar_one() or 0
            for table in metadata.sorted_tables
        )


def give_back(engine: Engine) -> int:
    """Write every table anew without the space that is free in it, and return the bytes of the tables afterwards.

    Nobody reads or writes a table meanwhile: VACUUM FULL locks it. Who does not own the tables changes nothing.
    Raises `LedgerUnavailable`.
    """
    with ledger_errors(), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        driver: Any = connection.connection.driver_connection
        for table in metadata.sorted_tables:
            driver.execute(sql.SQL("VACUUM (FULL, ANALYZE) {}").format(sql.Identifier(table.name)))
    return space_taken(engine)
