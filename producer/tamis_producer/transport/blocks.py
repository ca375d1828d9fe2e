"""Blocks of models. If an endpoint requests a wait, the shared rate limit grants no call to its model for a while.

The limiter keeps blocks in Redis. A block ends by itself, or when a person lifts the block. Workers notice the end
within seconds.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from shlex import quote

import redis

from tamis_schemas import BrokerUnavailable
from tamis_schemas.batches import wire

from ..config.redis_clients import connect
from .broker import place, what_is_wrong

ANSWER_WITHIN = 5.0  # s
MICROSECONDS = 1_000_000
ROUNDED_UP = timedelta(seconds=59)  # people read minutes
WHY = "the endpoint asks to wait"
# Ends a block. Workers that asked for it compare the time of the lift, see `limiter.lua`.
LIFT = """
if redis.call('HEXISTS', KEYS[1], 'blocked') == 1 then
  local clock = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'blocked', 0, 'lifted', string.format('%.0f', clock[1] * 1000000 + clock[2]))
end
"""


@dataclass(frozen=True)
class Block:
    """A model that is not called for a while, because its endpoint asked to wait."""

    model: str
    until: datetime  # by this machine's clock
    key: str = ""  # in Redis


def read_blocks(limiter_url: str) -> list[Block]:
    """Return the models that are not called for a while, sorted by name. May raise `BrokerUnavailable`."""
    with _limiter(limiter_url) as client:
        return _read(client)


def lift_blocks(limiter_url: str, models: Collection[str | None]) -> list[Block]:
    """Let workers call these models again at once, although endpoints asked to wait. Return the lifted blocks.

    If None is among the models, all blocks are lifted. May raise `BrokerUnavailable`.
    """
    with _limiter(limiter_url) as client:
        blocks = [block for block in _read(client) if None in models or block.model in models]
        for block in blocks:
            client.eval(LIFT, 1, block.key)
        return blocks


def block_words(blocks: Sequence[Block]) -> str:
    """Return which calls do not begin, and until when: `no calls to m until 2026-11-28 12:35 UTC`."""
    times = (f"{block.model} until {(block.until + ROUNDED_UP).astimezone(UTC):%Y-%m-%d %H:%M} UTC" for block in blocks)
    return f"no calls to {', '.join(times)}"


def lifting(blocks: Sequence[Block]) -> str:
    """Return the command by which a person lifts these blocks."""
    return f"`tamis unblock {quote(blocks[0].model) if len(blocks) == 1 else 'MODEL'}`"


def _read(client: "redis.Redis") -> list[Block]:
    seconds, micros = client.time()
    now = datetime.now(UTC)
    blocks = []
    for key in client.scan_iter(wire.RATE_KEYS, count=1000):
        left = int(client.hget(key, "blocked") or 0) - seconds * MICROSECONDS - micros
        if left > 0 and (limit := wire.RATE_KEY.fullmatch(key)) is not None:
            blocks.append(Block(limit["model"], now + timedelta(microseconds=left), key))
    return sorted(blocks, key=lambda block: block.model)


@contextmanager
def _limiter(url: str) -> Iterator["redis.Redis"]:
    times = {"socket_timeout": ANSWER_WITHIN, "socket_connect_timeout": ANSWER_WITHIN}
    try:
        with connect(url, decode_responses=True, **times) as client:
            yield client
    except (redis.RedisError, OSError, ValueError) as error:  # ValueError: the URL is of another server
        raise BrokerUnavailable(f"the limiter's Redis at {place(url)} {what_is_wrong(error)}") from error
