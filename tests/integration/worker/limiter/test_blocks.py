"""Blocks of models on a real server: shown and lifted, also in the memory of the workers that asked for them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import pytest
from redis.asyncio import Redis

from tamis_cli.embedded.valkey import Valkey
from tamis_producer.transport.blocks import Block, block_words, lift_blocks, lifting, read_blocks
from tamis_schemas import BrokerUnavailable
from tamis_worker.limiter.limiter import Limiter, Limiters, Limits

SOON = 10.0  # s
FREE = Limits(rpm=None, tpm=None, concurrency=8)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with Valkey(tmp_path_factory.mktemp("blocks")) as running:
        yield running


@pytest.fixture
async def workers(server: Valkey) -> AsyncIterator[list[Limiters]]:
    """The limiters of two worker processes, on an empty server."""
    async with AsyncExitStack() as stack:
        redis = await stack.enter_async_context(Redis.from_url(server.url))
        await redis.flushall()
        both = [Limiters(redis, "https://llm.example/v1", FREE, holder=name, lease=0.6) for name in ("a", "b")]
        for worker in both:
            stack.push_async_callback(worker.close)
        yield both


async def granted(limiter: Limiter) -> None:
    permit = await asyncio.wait_for(limiter.acquire(1), SOON)
    await limiter.release(permit, None)


async def test_a_lifted_block_is_over_for_every_worker_and_a_later_one_counts(
    server: Valkey, workers: list[Limiters]
) -> None:
    first, second = [await worker.of("m|1") for worker in workers]
    other = await workers[0].of("other")
    await asyncio.gather(granted(first), granted(second), granted(other))
    for limiter in (first, second, other):
        await limiter.block(200.0)
    now = datetime.now(UTC)
    blocks = read_blocks(server.url)
    assert [block.model for block in blocks] == ["m|1", "other"]
    assert all(timedelta(seconds=190) < block.until - now <= timedelta(seconds=201) for block in blocks)
    assert [block.model for block in lift_blocks(server.url, ["m|1", "unknown"])] == ["m|1"]
    await granted(first)
    await granted(second)  # it asked for a block too, and sends it with each request until it hears of the lift
    assert (first.blocked, second.blocked) == (0.0, 0.0)
    assert [block.model for block in read_blocks(server.url)] == ["other"]
    await second.block(200.0)
    assert [block.model for block in lift_blocks(server.url, [None])] == ["m|1", "other"]
    assert lift_blocks(server.url, [None]) == []


async def test_a_lifted_block_does_not_come_back_when_the_server_loses_its_data(
    server: Valkey, workers: list[Limiters]
) -> None:
    first, second = [await worker.of("m") for worker in workers]
    await asyncio.gather(granted(first), granted(second))
    for limiter in (first, second):
        await limiter.block(200.0)
    lift_blocks(server.url, ["m"])
    await granted(first)
    await granted(second)
    async with Redis.from_url(server.url) as redis:
        await redis.flushall()
    await granted(first)
    assert read_blocks(server.url) == []
    await first.block(200.0)
    assert [block.model for block in read_blocks(server.url)] == ["m"]  # the new one counts there too


def test_a_block_says_until_when_and_how_to_lift_it() -> None:
    until = datetime(2026, 11, 28, 12, 34, 1, tzinfo=UTC)
    blocks = [Block("a model", until), Block("m", until)]
    assert block_words(blocks) == "no calls to a model until 2026-11-28 12:35 UTC, m until 2026-11-28 12:35 UTC"
    assert (lifting(blocks), lifting(blocks[:1])) == ("`tamis unblock MODEL`", "`tamis unblock 'a model'`")


def test_a_server_that_is_away_is_named_in_one_line() -> None:
    with pytest.raises(BrokerUnavailable, match=r"^the limiter's Redis at 127\.0\.0\.1:1 does not answer$"):
        read_blocks("redis://:s3cret@127.0.0.1:1/2")
