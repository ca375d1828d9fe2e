"""A ledger that is lent to one test after the other is to each of them as the migrations left it."""

import psycopg
import pytest

from stage.kept import write_kept_review
from stage.ledgers import Ledgers
from tamis_producer.ledger import connect
from tamis_schemas.ledger import batches, items, metadata


def sql(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://"), autocommit=True) as connection:
        done = connection.execute(statement)
        return done.fetchall() if done.description else []


def test_rows_are_gone_sequences_begin_anew_and_whoever_was_connected_is_not_any_more(ledgers: Ledgers) -> None:
    with ledgers.lend() as url:
        engine = connect(url)
        with engine.begin() as connection:
            write_kept_review(connection)
            assert connection.execute(items.select()).first() is not None
            assert connection.execute(batches.select()).first() is not None
        left = engine.connect()
        left.execute(batches.select())
    with ledgers.lend() as again:
        assert again == url
        for table in metadata.sorted_tables:
            assert sql(again, f'SELECT count(*) FROM "{table.name}"') == [(0,)], table.name
            assert sql(again, f"SELECT pg_relation_size('{table.name}')") == [(0,)], table.name
        used = "SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' AND last_value > start_value"
        assert sql(again, used) == []
        clients = "datname = current_database() AND backend_type = 'client backend'"  # autovacuum may look in as well
        assert sql(again, f"SELECT count(*) FROM pg_stat_activity WHERE {clients}") == [(1,)]
    left.invalidate()
    engine.dispose()


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE more (id int)",
        "DROP TABLE llm_cache",
        "ALTER TABLE batches ADD COLUMN more int",
        "ALTER TABLE batches ALTER COLUMN state DROP NOT NULL",
        "GRANT SELECT ON items TO pg_monitor",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO pg_monitor",
        "ALTER TABLE batches DISABLE TRIGGER USER",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = %L', current_database(), 'UTC'); END $$",
        "UPDATE alembic_version SET version_num = '0001'",
        "CREATE INDEX more ON batches (state)",
        "DROP SCHEMA public CASCADE",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I CONNECTION LIMIT 0', current_database()); END $$",
    ],
)
def test_what_a_test_altered_is_not_lent_again(ledgers: Ledgers, change: str) -> None:
    with ledgers.lend() as url:
        sql(url, change)
    with ledgers.lend() as other:
        assert other != url
    assert (
        sql(ledgers.server.url, f"SELECT FROM pg_database WHERE datname = '{url.split('/')[-1].split('?')[0]}'") == []
    )
