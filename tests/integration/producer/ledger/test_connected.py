"""A connection of an event loop goes back to its pool, whenever the loop ends."""

import asyncio

from sqlalchemy import QueuePool, text

from tamis_producer.ledger import connected
from tamis_producer.ledger.connection import connect_without_transactions
from tamis_producer.ledger.pool_kinds import LISTENER


def test_a_loop_that_ends_while_a_connection_is_given_back_drops_none(database_url: str) -> None:
    engine = connect_without_transactions(database_url, LISTENER)

    async def read(has_read: asyncio.Event, may_leave: asyncio.Event) -> None:
        async with connected(engine) as connection:
            await connection.execute(text("SELECT 1"))
            has_read.set()
            await may_leave.wait()

    async def ends_as_it_leaves() -> None:
        has_read, may_leave = asyncio.Event(), asyncio.Event()
        reading = asyncio.create_task(read(has_read, may_leave))
        await has_read.wait()
        may_leave.set()  # it goes on in the very turn after which the loop ends
        assert not reading.done()

    asyncio.run(ends_as_it_leaves())
    pool = engine.sync_engine.pool
    assert isinstance(pool, QueuePool)
    assert pool.checkedout() == 0
    asyncio.run(engine.dispose())
