"""Migration of a ledger to this release's version."""

from collections.abc import Iterator
from contextlib import contextmanager

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.pool import NullPool

from ..errors import ConfigurationError
from .outages import LedgerConflict, translated
from .pooler import address, session
from .revisions import MIGRATIONS, head, revisions

MIGRATION_LOCK = 7_264_947  # a Postgres advisory lock: two starts at once migrate one after the other
DENIED = ("42501", "3F000")  # SQLSTATEs: the user may not create tables in the schema, or there is no schema
ATTEMPTS = 5  # of a migration that conflicts with another transaction


def upgrade(database_url: str) -> None:
    """Create or migrate the ledger at `database_url`; do nothing if it is up to date.

    Raises:
        LedgerUnavailable: Postgres does not answer.
        ConfigurationError: the ledger was written by a newer release, or the URL is wrong. Also raised for a new ledger
            if the database cannot hold every text, or if the database's user may not create tables.
    """
    # Workers of the earlier release continue, and may deadlock with the migration over its locks.
    for _ in range(ATTEMPTS - 1):
        try:
            return _upgrade(database_url)
        except LedgerConflict:
            continue
    return _upgrade(database_url)


def _upgrade(database_url: str) -> None:
    server = address(database_url)
    engine = create_engine(server.url, poolclass=NullPool, hide_parameters=True, connect_args=session(server, {}))
    with translated(), _allowed(), engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
        current = MigrationContext.configure(connection).get_current_revision()
        if current is not None and current not in revisions():
            raise ConfigurationError(
                f"this release does not know the ledger's revision {current!r}: install the newer release of Tamis "
                "that wrote it"
            )
        if current == head():
            return
        encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
        if current is None and encoding != "UTF8":
            raise ConfigurationError(
                f"the database has the encoding {encoding}, which cannot hold every text: name a database that was "
                "created with ENCODING 'UTF8' TEMPLATE template0"
            )
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(MIGRATIONS))
        command.upgrade(config, "head")


@contextmanager
def _allowed() -> Iterator[None]:
    try:
        yield
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", None) not in DENIED:
            raise
        raise ConfigurationError(
            f"the ledger's tables cannot be created: {str(error.orig).splitlines()[0]}: grant this user USAGE and "
            "CREATE on a schema of its search_path, for example `GRANT ALL ON SCHEMA public TO ...`"
        ) from error
