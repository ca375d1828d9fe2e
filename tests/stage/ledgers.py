"""Migrated databases of one server, lent to one test after the other."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import sql

from tamis_cli.embedded.postgres import Postgres
from tamis_schemas.ledger.migrate import upgrade

TEMPLATE = "template_ledger"
KEPT = "alembic_version"  # has a row in every ledger
LARGEST = 1_000_000  # bytes of tables; in more than that a test would look for its rows among those that are gone

# Whatever a test makes, alters or grants leaves another number of rows, or one of a younger transaction.
SHAPE = """
SELECT sum(rows), max(youngest) FROM (
    SELECT count(*) AS rows, max(xmin::text::bigint) AS youngest FROM pg_class
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM pg_attribute
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM pg_constraint
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM pg_trigger
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM pg_proc
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM pg_namespace
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM pg_default_acl
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM pg_policy
    UNION ALL SELECT count(*), 0 FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
        WHERE d.datname = current_database()
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM pg_database WHERE datname = current_database()
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM alembic_version
) AS catalogs
"""
TABLES = """
SELECT relname, pg_relation_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> %s
"""
OTHERS = "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
VACUUM = sql.SQL("VACUUM (INDEX_CLEANUP ON, TRUNCATE ON) ")
SEQUENCES = """
SELECT setval(quote_ident(schemaname) || '.' || quote_ident(sequencename), start_value, false)
FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL
"""


@dataclass(frozen=True)
class Ledgers:
    """To empty one takes a tenth of what it takes to make one and to drop it."""

    server: Postgres
    _empty: list[tuple[str, object]] = field(default_factory=list)  # names, and the shape that each has

    def prepare(self) -> None:
        """Make the database that all others are copies of."""
        with self._connect() as connection:
            # What is here need not outlive the machine, and survives a kill of the server all the same.
            for setting in ("fsync", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute(f'CREATE DATABASE "{TEMPLATE}"')
        upgrade(self._url(TEMPLATE))

    @contextmanager
    def lend(self) -> Iterator[str]:
        """The URL of a ledger without a row, and as the migrations left it."""
        name, shape = self._empty.pop() if self._empty else self._make()
        yield self._url(name)
        if self._cleared(name, shape):
            self._empty.append((name, shape))
            return
        with self._connect() as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    def _make(self) -> tuple[str, object]:
        name = f"test_{uuid4().hex[:12]}"
        with self._connect() as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{TEMPLATE}"')
        with self._connect(name) as connection:
            return name, connection.execute(SHAPE).fetchone()

    def _cleared(self, name: str, shape: object) -> bool:
        """Whether it can be lent again; if so, it is empty."""
        try:
            with self._connect(name) as connection:
                connection.execute(OTHERS, [name])
                if connection.execute(SHAPE).fetchone() != shape:
                    return False
                tables = connection.execute(TABLES, [KEPT]).fetchall()
                if sum(size for _, size in tables) > LARGEST:
                    return False
                connection.execute("SET session_replication_role = replica")  # no trigger, and in any order
                filled = [sql.Identifier(table) for table, size in tables if size > 0]
                for table in filled:
                    connection.execute(sql.SQL("DELETE FROM {}").format(table))
                if filled:  # rows of the next test stand in the order in which they come, as in a new table
                    connection.execute(VACUUM + sql.SQL(", ").join(filled))
                connection.execute(SEQUENCES)
        except psycopg.Error:
            return False  # dropped or renamed, or without its tables: as the test left it
        return True

    def _connect(self, database: str | None = None) -> psycopg.Connection[tuple[Any, ...]]:
        url = self.server.url if database is None else self._url(database)
        return psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://"), autocommit=True)

    def _url(self, name: str) -> str:
        return self.server.url.replace("/tamis?", f"/{name}?")
