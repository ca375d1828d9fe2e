"""The terms of batches, as workers read them from a real Postgres."""

import asyncio
from uuid import UUID

import pytest
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Client
from tamis_schemas import Filter, InvalidParameters, Priority
from tamis_worker.ledger.batches import BatchConfigCache


async def test_items_that_begin_at_once_share_one_reading_of_their_batchs_terms(
    client: Client, engine: AsyncEngine
) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(3))
    statements: list[str] = []
    event.listen(engine.sync_engine, "before_cursor_execute", lambda *given: statements.append(given[2]), insert=True)
    configs = BatchConfigCache(engine)
    configs.expect(batch.uuid)
    first, *others = await asyncio.gather(*(configs.of(batch.uuid) for _ in range(20)))
    assert all(terms is first for terms in others)
    assert len([statement for statement in statements if "FROM batches" in statement]) == 1


async def test_terms_that_could_not_be_read_are_read_again(client: Client, engine: AsyncEngine) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(1))
    configs = BatchConfigCache(engine)

    def operation(name: str) -> None:
        change = text(
            "UPDATE batches SET params = jsonb_set(params::jsonb, '{operation}', to_jsonb(CAST(:name AS text)))"
        )
        with client.engine.begin() as connection:
            connection.execute(change, {"name": name})

    operation("of a later release")
    with pytest.raises(InvalidParameters):
        await configs.of(batch.uuid)
    operation("filter")
    assert (await configs.of(batch.uuid)).operation == Filter(criteria="Is it?")


async def test_one_cancelled_item_leaves_the_reading_to_the_others(client: Client, engine: AsyncEngine) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(2))
    configs = BatchConfigCache(engine)
    cancelled, waiting = (asyncio.create_task(configs.of(batch.uuid)) for _ in range(2))
    await asyncio.sleep(0)
    cancelled.cancel()
    assert (await waiting).batch_id == batch.uuid


async def test_a_new_priority_reaches_terms_that_are_read_and_none_that_are_not(
    client: Client, engine: AsyncEngine
) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(1))
    configs = BatchConfigCache(engine)
    reading = configs.expect(batch.uuid)
    assert configs.follow({batch.uuid: Priority.HIGH, UUID(int=1): Priority.HIGH}) == []
    assert (await reading).priority is Priority.NORMAL
    assert configs.follow({batch.uuid: Priority.HIGH}) == [batch.uuid]
    assert (await configs.of(batch.uuid)).priority is Priority.HIGH
