"""The migrations make exactly the tables that the code believes in."""

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, text

from tamis_schemas import ConfigurationError, LedgerUnavailable
from tamis_schemas.ledger import metadata
from tamis_schemas.ledger.migrate import head, upgrade


def test_the_migrations_and_the_tables_agree(database_url: str) -> None:
    engine = create_engine(database_url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_every_check_of_the_tables_is_in_the_database(database_url: str) -> None:
    declared = {
        constraint.name
        for table in metadata.tables.values()
        for constraint in table.constraints
        if constraint.name is not None and str(constraint.name).startswith("ck_")
    }
    engine = create_engine(database_url)
    with engine.connect() as connection:
        found = connection.execute(text("SELECT conname FROM pg_constraint WHERE contype = 'c'")).scalars().all()
    engine.dispose()
    assert declared
    assert declared <= set(found)


def test_upgrading_twice_changes_nothing(database_url: str) -> None:
    upgrade(database_url)
    engine = create_engine(database_url)
    with engine.connect() as connection:
        assert MigrationContext.configure(connection).get_current_revision() == head()
    engine.dispose()


def test_a_ledger_of_a_newer_release_is_refused(database_url: str) -> None:
    url = database_url.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(ConfigurationError, match="9999"):
        upgrade(database_url)


def test_a_ledger_that_does_not_answer_is_named() -> None:
    with pytest.raises(LedgerUnavailable, match="does not answer"):
        upgrade("postgresql+psycopg://nobody@127.0.0.1:1/none")
