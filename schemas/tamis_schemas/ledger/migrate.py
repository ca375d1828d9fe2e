"""Bring a ledger up to the version that this release writes."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, inspect, text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import NullPool

from ..errors import ConfigurationError, LedgerUnavailable

MIGRATIONS = Path(__file__).parent / "migrations"
MIGRATION_LOCK = 7_264_947  # a Postgres advisory lock: two starts at once migrate one after the other


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


def head() -> str:
    """The revision that this release writes."""
    revision = ScriptDirectory.from_config(_config()).get_current_head()
    assert revision is not None, "there is always a first migration"  # noqa: S101 - a fact of this package
    return revision


def demand(engine: Engine) -> None:
    """Return where the ledger has the tables that this release works with: its own, or those of a newer one.

    Raises:
        LedgerUnavailable: Postgres does not answer.
        ConfigurationError: there are no tables, or those of an older release.
    """
    try:
        with engine.connect() as connection:
            migrated = inspect(connection).has_table("alembic_version")
            statement = text("SELECT max(version_num) FROM alembic_version")
            current = connection.execute(statement).scalar_one() if migrated else None
    except OperationalError as error:
        raise LedgerUnavailable(f"Postgres does not answer: {_reason(error)}") from error
    if current is None:
        raise ConfigurationError("the ledger has no tables: run `tamis migrate` once")
    older = {revision.revision for revision in ScriptDirectory.from_config(_config()).walk_revisions()} - {head()}
    if current in older:
        raise ConfigurationError(
            f"the ledger's tables are older (revision {current}) than this release's ({head()}): run `tamis migrate`; "
            "workers of the older release go on meanwhile"
        )


def upgrade(database_url: str) -> None:
    """Create or migrate the ledger at `database_url`; does nothing where it is up to date.

    Raises:
        LedgerUnavailable: Postgres does not answer.
        ConfigurationError: the ledger was written by a newer release, or the URL is wrong.
    """
    config = _config()
    try:
        engine = create_engine(database_url, poolclass=NullPool)
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
            current = MigrationContext.configure(connection).get_current_revision()
            script = ScriptDirectory.from_config(config)
            known = {revision.revision for revision in script.walk_revisions()}
            if current is not None and current not in known:
                raise ConfigurationError(
                    f"the ledger is at revision {current!r}, which this release does not know: "
                    "it was written by a newer one"
                )
            if current == script.get_current_head():
                return
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except OperationalError as error:
        raise LedgerUnavailable(f"Postgres does not answer: {_reason(error)}") from error


def _reason(error: DBAPIError) -> str:
    lines = str(error.orig).strip().splitlines()
    return lines[0] if lines else type(error.orig).__name__
