"""The limiter without a server: what callers see of it, on fakeredis. The real server runs the full suite."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from fakeredis import FakeAsyncRedis

from tamis_worker.limiter.limiter import Limiter, Limits

BOUND = 10.0  # s


@pytest.fixture
async def redis() -> AsyncIterator[FakeAsyncRedis]:
    async with FakeAsyncRedis() as fake:
        yield fake


async def test_two_processes_share_one_slot(redis: FakeAsyncRedis) -> None:
    limits = Limits(rpm=None, tpm=None, concurrency=1)
    first = Limiter(redis, "limit:{a|m}", limits, holder="one")
    second = Limiter(redis, "limit:{a|m}", limits, holder="two")
    for limiter in (first, second):
        await limiter.start()
    permit = await asyncio.wait_for(first.acquire(10), BOUND)
    waiting = asyncio.create_task(second.acquire(10))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), 0.2)
    await first.release(permit, 12)
    await asyncio.wait_for(waiting, BOUND)
    for limiter in (first, second):
        await limiter.close()


async def test_a_limiter_that_is_not_open_grants_nothing(redis: FakeAsyncRedis) -> None:
    limiter = Limiter(redis, "limit:{a|m}", Limits(rpm=None, tpm=None, concurrency=1), holder="one")
    with pytest.raises(RuntimeError, match="open"):
        await limiter.acquire(1)
