"""The migrations make exactly the tables that the code believes in."""

from collections.abc import Mapping
from enum import StrEnum
from itertools import permutations
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, text
from sqlalchemy.exc import IntegrityError

from stage.sample_revision import next_release
from tamis_producer import Client, ProducerSettings
from tamis_schemas import BatchStatus, ConfigurationError, ItemStatus, LedgerUnavailable
from tamis_schemas.batches.status import BATCH_TRANSITIONS, ITEM_TRANSITIONS
from tamis_schemas.ledger import metadata
from tamis_schemas.ledger.migrate import upgrade
from tamis_schemas.ledger.revisions import demand, head


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


@pytest.mark.parametrize(
    ("revision", "says"), [("0001", "older"), (None, "no tables"), ("0002", None), ("9999_of_tomorrow", None)]
)
def test_a_worker_wants_tables_of_its_own_release_or_of_a_newer_one(
    database_url: str, tmp_path: Path, revision: str | None, says: str | None
) -> None:
    engine = create_engine(database_url)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM alembic_version"))
        if revision is not None:
            connection.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": revision})
    try:
        with next_release(tmp_path):
            if says is None:
                demand(engine)
            else:
                with pytest.raises(ConfigurationError, match=f"{says}.*tamis migrate"):
                    demand(engine)
    finally:
        engine.dispose()


def test_a_url_with_an_option_that_no_driver_knows_is_a_configuration_error() -> None:
    url = "postgresql+psycopg://nobody:a-password@127.0.0.1:1/none?nonsense=1"
    with pytest.raises(ConfigurationError, match=r"TAMIS_DATABASE_URL is invalid: .*nonsense"):
        upgrade(url)
    with pytest.raises(ConfigurationError, match=r"TAMIS_DATABASE_URL is invalid: .*nonsense"):
        demand(create_engine(url))
    client = Client(ProducerSettings(broker_url="redis://127.0.0.1:1/0", database_url=url))
    with client, pytest.raises(ConfigurationError, match=r"TAMIS_DATABASE_URL is invalid: .*nonsense") as told:
        client.batches()
    assert "a-password" not in str(told.value)


def test_a_ledger_that_does_not_answer_is_named() -> None:
    with pytest.raises(LedgerUnavailable, match="does not answer"):
        upgrade("postgresql+psycopg://nobody@127.0.0.1:1/none")


@pytest.mark.parametrize(
    ("table", "states", "legal"),
    [("item_states", ItemStatus, ITEM_TRANSITIONS), ("batches", BatchStatus, BATCH_TRANSITIONS)],
    ids=["items", "batches"],
)
def test_the_ledger_refuses_every_transition_that_the_table_does_not_list(
    database_url: str, table: str, states: type[StrEnum], legal: Mapping[StrEnum, frozenset[StrEnum]]
) -> None:
    engine = create_engine(database_url)
    batch = uuid4()
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO batches (id, content_sha256, operation, params, n_items, shard_size, window_size) "
                "VALUES (:id, '', 'filter', '{}', 1, 1, 1)"
            ),
            {"id": batch},
        )
    for before, after in permutations(states, 2):
        with engine.connect() as connection:  # rolled back each time
            if table == "item_states":
                connection.execute(
                    text("INSERT INTO item_states (batch_id, idx, item_id, state) VALUES (:id, 0, '', :state)"),
                    {"id": batch, "state": before},
                )
            else:
                connection.execute(text("ALTER TABLE batches DISABLE TRIGGER legal_transitions"))
                connection.execute(text("UPDATE batches SET state = :state"), {"state": before})
                connection.execute(text("ALTER TABLE batches ENABLE TRIGGER legal_transitions"))
            step = text(f"UPDATE {table} SET state = :state")
            if after in legal[before]:
                assert connection.execute(step, {"state": after}).rowcount == 1
            else:
                with pytest.raises(IntegrityError, match=f"{table} cannot go from {before} to {after}"):
                    connection.execute(step, {"state": after})
    engine.dispose()
