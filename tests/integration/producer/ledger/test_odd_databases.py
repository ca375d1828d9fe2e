"""Databases with other defaults: their texts and times are read all the same, or the doctor says why not."""

import asyncio

import pytest
import redis
from sqlalchemy import text

from stage.ledgers import Ledgers
from tamis_cli.doctor.examination import judge_ledger_server, read_ledger_server
from tamis_cli.doctor.finding import Level
from tamis_cli.doctor.redis_server import RedisReading, judge_redis_server, read_redis_server
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Client, ProducerSettings
from tamis_producer.ledger.connection import connect
from tamis_schemas import Filter
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


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_the_doctor_refuses_a_database_that_cannot_hold_every_text(ledgers: Ledgers, encoding: str) -> None:
    with ledgers.lend() as url:
        engine = connect(url)
        other = f"odd_{encoding.lower()}"
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(f"CREATE DATABASE {other} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"))
            try:
                reading = read_ledger_server(url.replace(str(address(url).url.database), other))
            finally:
                connection.execute(text(f"DROP DATABASE {other} WITH (FORCE)"))
        engine.dispose()
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
