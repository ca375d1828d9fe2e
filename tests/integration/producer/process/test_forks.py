"""A client that was made before a fork works in the parent and in every child."""

import asyncio
import multiprocessing
import os
import threading
import traceback
from collections.abc import Callable

import pytest
import redis
from sqlalchemy import text

from tamis_producer import AsyncClient, Client, ProducerSettings
from tamis_schemas import Filter
from tamis_schemas.batches import wire

IS_IT = Filter(criteria="Is this about oncology?")
ITEMS = [{"id": f"r{number}", "title": f"Title {number}"} for number in range(20)]
TIMES = 5  # batches of each process and client
CHILDREN = 3


def work(client: Client, asynchronous: AsyncClient) -> None:
    """Submit and read, by turns with whoever else does."""

    async def same() -> None:
        for _ in range(TIMES):
            batch = await asynchronous.submit(IS_IT, ITEMS)
            assert [row.index async for row in batch.results()] == list(range(len(ITEMS)))
        await asynchronous.close()

    for _ in range(TIMES):
        batch = client.submit(IS_IT, ITEMS)
        assert [row.index for row in batch.results()] == list(range(len(ITEMS)))
        assert batch.status().state == "running"  # dispatched, not left to the workers
    asyncio.run(same())


def forked(function: Callable[[], None]) -> int:
    """As a pre-fork server does it; the id of the child, which ends with 0 where the function returns."""
    child = os.fork()
    if child == 0:
        try:
            function()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return child


@pytest.mark.night
def test_parent_and_children_submit_and_read_at_the_same_time(settings: ProducerSettings) -> None:
    asynchronous = AsyncClient(settings)
    with Client(settings) as client, redis.Redis.from_url(settings.broker) as broker:
        work(client, asynchronous)  # every pool has connections, and Celery has its application
        children = [forked(lambda: work(client, asynchronous)) for _ in range(CHILDREN)]
        context = multiprocessing.get_context("fork")
        process = context.Process(target=work, args=(client, asynchronous))
        process.start()
        work(client, asynchronous)
        ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        process.join()
        assert [*ended, process.exitcode] == [0] * (CHILDREN + 1)
        work(client, asynchronous)  # and no child has hung up in the parent's name
        processes = 3 + CHILDREN + 1
        batches = client.batches(limit=1000)
        assert len(batches) == 2 * TIMES * processes
        queued = sum(int(broker.llen(f"{wire.KEY_PREFIX}{queue}")) for queue in wire.ITEM_QUEUES)
        assert queued == len(batches) * len(ITEMS)  # each message once, and whole


def test_a_child_has_a_connection_of_its_own_and_waits_for_no_lock_of_its_parent(settings: ProducerSettings) -> None:
    with Client(settings) as client:
        client.submit(IS_IT, ITEMS)
        ours = backend(client)

        def child() -> None:
            client.submit(IS_IT, ITEMS)
            assert backend(client) != ours

        with client._lock:  # as another thread of the parent holds it at the moment of the fork
            pid = forked(child)
        overdue = threading.Timer(60, os.kill, (pid, 9))
        overdue.start()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        overdue.cancel()
        assert backend(client) == ours


def backend(client: Client) -> int:
    with client.engine.connect() as connection:
        return int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())
