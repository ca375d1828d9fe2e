"""Databases with other defaults: their texts and times are read all the same, or the doctor says why not."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from sqlalchemy import Connection, text

from stage.ledgers import Ledgers
from stage.sentinels import replica_of
from tamis_cli.doctor.examination import judge_ledger_server, read_ledger_server
from tamis_cli.doctor.finding import Level
from tamis_cli.doctor.redis_server import RedisReading, judge_redis_server, read_redis_server
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Client, ProducerSettings
from tamis_producer.ledger.connection import connect
from tamis_schemas import ConfigurationError, Filter
from tamis_schemas.ledger.migrate import upgrade
from tamis_schemas.ledger.pooler import address
from tamis_schemas.ledger.revisions import revisions
from tamis_worker.ledger.connection import connect as connect_worker


def test_german_times_are_read_by_every_connection(settings: ProducerSettings, database_url: str) -> None:
    name = address(database_url).url.database
    engine = connect(database_url)
    with engine.begin() as connection:
        connection.execute(text(f"ALTER DATABASE \"{name}\" SET datestyle = 'German, DMY'"))
    engine.dispose()
    with Client(settings) as client:
        batch = client.submit(Filter(criteria="Is it?"), [{"title": "\u03b1"}])
        assert batch.status().created_at is not None

    async def read() -> object:
        ours = connect_worker(database_url, single_statements=True)
        async with ours.connect() as connection:
            created_at = (await connection.execute(text("SELECT created_at FROM batches"))).scalar_one()
        await ours.dispose()
        return created_at

    assert asyncio.run(read()) is not None
    assert not isinstance(read_ledger_server(database_url), Exception)


@contextmanager
def other_database(ledgers: Ledgers, *options: str) -> Iterator[tuple[str, Connection]]:
    """The URL of an empty database with these options, and an owner's connection beside it."""
    with ledgers.lend() as url:
        engine = connect(url)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(f"CREATE DATABASE odd {' '.join(options)}"))
            try:
                yield url.replace(str(address(url).url.database), "odd"), connection
            finally:
                connection.execute(text("DROP DATABASE odd WITH (FORCE)"))
        engine.dispose()


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_hold_every_text_is_refused_by_the_doctor_and_before_it_has_a_table(
    ledgers: Ledgers, encoding: str
) -> None:
    with other_database(ledgers, f"ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0") as (url, _):
        with pytest.raises(ConfigurationError, match=f"has the encoding {encoding}, which cannot hold every text"):
            upgrade(url)
        reading = read_ledger_server(url)
    failures = [one.what for one in judge_ledger_server(reading, revisions()) if one.level is Level.FAILURE]
    assert f"its encoding is {encoding}: it cannot hold every text" in failures


def test_the_doctor_finds_a_user_of_redis_without_the_keys_of_tamis(valkey: Valkey) -> None:
    with redis.Redis.from_url(valkey.url) as server:
        server.execute_command("ACL", "SETUSER", "weak", "on", ">pw", "~other:*", "+@all")
        try:
            place = valkey.url.rpartition("@")[2].removeprefix("redis://")
            reading = read_redis_server(f"redis://weak:pw@{place}")
        finally:
            server.execute_command("ACL", "DELUSER", "weak")
    assert isinstance(reading, RedisReading)
    (refused,) = [one for one in judge_redis_server("broker", "host", reading) if one.level is Level.FAILURE]
    assert "refuses a script on Tamis's keys" in refused.what
    assert isinstance(whole := read_redis_server(valkey.url), RedisReading)
    assert (whole.refusal, whole.cluster) == (None, False)


def test_a_user_who_may_create_no_table_is_told_what_to_grant(ledgers: Ledgers) -> None:
    with other_database(ledgers) as (url, owner):
        owner.execute(text("CREATE ROLE odd_user LOGIN"))
        try:
            weak = address(url).url.set(username="odd_user").render_as_string(hide_password=False)
            with pytest.raises(ConfigurationError, match="permission denied for schema public: grant this user USAGE"):
                upgrade(weak)
            owner.execute(text("ALTER DATABASE odd SET search_path = 'nowhere'"))
            with pytest.raises(ConfigurationError, match="no schema has been selected to create in: grant"):
                upgrade(url)
        finally:
            owner.execute(text("DROP ROLE odd_user"))


def test_the_doctor_names_a_replica(tmp_path: Path) -> None:
    with Valkey(tmp_path / "primary") as primary, replica_of(primary, tmp_path / "replica") as replica:
        reading = read_redis_server(replica.url)
    failures = [one for one in judge_redis_server("broker", "host", reading) if one.level is Level.FAILURE]
    assert [(one.what, one.mend) for one in failures] == [
        ("it is a replica, which accepts no writes", "name the primary in TAMIS_BROKER_URL")
    ]
