"""A message that comes twice: its call has one item in the ledger, and both messages get that item's result."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from stage import abstracts
from tamis_producer import Client
from tamis_producer.calls.single_calls import CallQuestion
from tamis_producer.ledger import CallRepeated, CallResult
from tamis_schemas import Filter, ItemStatus

SOON = 10.0  # s
QUESTION = CallQuestion(Filter(criteria="Is it?"), "celery")
CALLS = text("SELECT call_id, batch_id FROM payloads WHERE call_id IS NOT NULL ORDER BY batch_id, idx")
CANCELLED = text("UPDATE item_states SET state = 'cancelled' WHERE state = 'pending'")
PURGING = text("UPDATE batches SET purging_at = now() WHERE service = 'celery'")
PURGED = text("DELETE FROM batches WHERE purging_at IS NOT NULL")


@pytest.fixture
async def clients(client: Client) -> AsyncIterator[tuple[Client, Client]]:
    """Two clients, as in two workers."""
    with Client(client.settings) as other:
        yield client, other
        tasks = [one.calls._here().results._task for one in (client, other)]
        for one in (client, other):
            one.calls.close()
        await asyncio.wait([task for task in tasks if task is not None], timeout=SOON)


def asking(client: Client, n: int, call_id: UUID) -> "asyncio.Task[CallResult]":
    return asyncio.create_task(client.calls.ask(QUESTION, abstracts(n + 1)[n], call_id=call_id))


def written(client: Client) -> list[tuple[UUID, UUID]]:
    with client.engine.connect() as connection:
        return [(row.call_id, row.batch_id) for row in connection.execute(CALLS)]


def change(client: Client, statement: object) -> None:
    with client.engine.begin() as connection:
        connection.execute(statement)  # type: ignore[call-overload]


async def until_written(client: Client, calls: int) -> None:
    async with asyncio.timeout(SOON):
        while len(await asyncio.to_thread(written, client)) < calls:  # noqa: ASYNC110 - the rows tell nobody
            await asyncio.sleep(0.01)


async def test_calls_of_one_moment_in_two_workers_are_each_written_once_and_each_message_is_answered(
    clients: tuple[Client, Client],
) -> None:
    ids = [uuid4() for _ in range(6)]
    tasks = [asking(client, n, ids[n]) for n in range(6) for client in clients]
    tasks += [asking(clients[0], n, ids[n]) for n in range(6)]
    await until_written(clients[0], 6)
    change(clients[0], CANCELLED)
    results = await asyncio.wait_for(asyncio.gather(*tasks), SOON)
    assert [result.status for result in results] == [ItemStatus.CANCELLED] * 18
    assert sorted(call_id for call_id, _ in written(clients[0])) == sorted(ids)


async def test_calls_with_ids_share_batches(clients: tuple[Client, Client]) -> None:
    client, _ = clients
    tasks = [asking(client, n, uuid4()) for n in range(20)]
    await until_written(client, 20)
    assert len({batch_id for _, batch_id in written(client)}) == 2  # the first alone, the others together
    change(client, CANCELLED)
    await asyncio.wait_for(asyncio.gather(*tasks), SOON)


async def test_while_a_call_is_being_purged_its_message_waits_and_is_a_new_call_afterwards(
    clients: tuple[Client, Client],
) -> None:
    client, _ = clients
    call_id = uuid4()
    first = asking(client, 0, call_id)
    await until_written(client, 1)
    change(client, CANCELLED)
    await asyncio.wait_for(first, SOON)
    change(client, PURGING)
    with pytest.raises(CallRepeated):
        await asking(client, 0, call_id)
    change(client, PURGED)
    again = asking(client, 0, call_id)
    await until_written(client, 1)
    change(client, CANCELLED)
    assert (await asyncio.wait_for(again, SOON)).status is ItemStatus.CANCELLED
