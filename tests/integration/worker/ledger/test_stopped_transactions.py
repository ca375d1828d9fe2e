"""A process that is stopped as a whole in the middle of a transaction keeps no lock for ever."""

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_producer.ledger import DISPATCH
from tamis_producer.ledger import connect as connect_producer
from tamis_schemas import LedgerUnavailable
from tamis_worker.ledger import connection as ledger
from tamis_worker.ledger.recovery import try_lock

SHOW = text("SHOW idle_in_transaction_session_timeout")


async def test_a_workers_transactions_are_ended_where_they_stand_idle(database_url: str) -> None:
    for single_statements in (False, True):
        engine = ledger.connect(database_url, single_statements=single_statements)
        async with engine.connect() as connection:
            assert (await connection.execute(SHOW)).scalar_one() == f"{ledger.IDLE_WITHIN}s"
        await engine.dispose()
    dispatch = connect_producer(database_url, DISPATCH)
    with dispatch.connect() as connection:
        assert connection.execute(SHOW).scalar_one() == "30s"
    dispatch.dispose()


async def test_the_sweep_of_a_stopped_worker_is_taken_over(database_url: str) -> None:
    stopped, other = ledger.connect(database_url), ledger.connect(database_url)

    async def sweeps(engine: AsyncEngine) -> bool:
        async with ledger.transaction(engine) as connection:
            return await try_lock(connection)

    async def stops_in_the_middle() -> None:
        async with ledger.transaction(stopped) as connection:
            await connection.execute(text("SET idle_in_transaction_session_timeout = '300ms'"))  # not ten seconds here
            assert await try_lock(connection)
            assert not await sweeps(other)
            async with other.connect() as waiting:  # whose server waits on, as the stopped one does not
                await waiting.execute(text("SELECT pg_sleep(1)"))
            assert await sweeps(other)
            await connection.execute(text("SELECT 1"))

    with pytest.raises(LedgerUnavailable, match="idle"):
        await stops_in_the_middle()
    await stopped.dispose()
    await other.dispose()
