"""After a switchover, no connection stays with the server that was the primary before."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_producer.ledger import connection as module
from tamis_producer.ledger.connection import connect, ledger_errors
from tamis_producer.ledger.pool_kinds import CLIENT
from tamis_schemas import LedgerUnavailable
from tamis_schemas.ledger.pooler import address
from tamis_worker.ledger.connection import connect as connect_worker
from tamis_worker.ledger.connection import transaction

DEMOTED = text("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")  # as all transactions of a standby are
PROCESS = text("SELECT pg_backend_pid()")
WRITE = text("INSERT INTO repairs (kind, total) VALUES ('lost', 1) ON CONFLICT DO NOTHING")


def test_a_server_that_refuses_to_write_loses_all_connections_of_a_program(database_url: str) -> None:
    engine: Engine = connect(database_url)
    with engine.connect() as first, engine.connect() as second:
        before = {first.execute(PROCESS).scalar_one(), second.execute(PROCESS).scalar_one()}
        for connection in (first, second):
            connection.execute(DEMOTED)
            connection.commit()
    with pytest.raises(LedgerUnavailable, match="read-only"), ledger_errors(), engine.begin() as connection:
        connection.execute(WRITE)
    with engine.connect() as first, engine.connect() as second:
        assert before.isdisjoint({first.execute(PROCESS).scalar_one(), second.execute(PROCESS).scalar_one()})
    engine.dispose()


@pytest.mark.parametrize("single_statements", [False, True], ids=["transactions", "statements"])
async def test_a_server_that_refuses_to_write_loses_all_connections_of_a_worker(
    database_url: str, single_statements: bool
) -> None:
    engine: AsyncEngine = connect_worker(database_url, single_statements=single_statements)
    async with engine.begin() as connection:
        before = (await connection.execute(PROCESS)).scalar_one()
        await connection.execute(DEMOTED)
    with pytest.raises(LedgerUnavailable, match="read-only"):
        async with transaction(engine) as connection:
            await connection.execute(WRITE)
    async with transaction(engine) as connection:
        assert (await connection.execute(PROCESS)).scalar_one() != before
        await connection.execute(WRITE)
    await engine.dispose()


@pytest.mark.parametrize(
    ("query", "attributes"),
    [
        ("", None),
        ("?host=a", None),
        ("?host=a:5432,b:5433", "read-write"),
        ("?host=a&host=b", "read-write"),
        ("?host=a,b&target_session_attrs=any", None),  # as the URL says
    ],
)
def test_of_several_hosts_the_one_that_writes_is_used_unless_the_url_says_otherwise(
    query: str, attributes: str | None
) -> None:
    place = address(f"postgresql+psycopg://tamis@/tamis{query}")
    assert module._usual(place, CLIENT)["connect_args"].get("target_session_attrs") == attributes
