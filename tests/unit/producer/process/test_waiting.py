"""How a client waits: on a thread as if nothing were, on an event loop by turns."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from sqlalchemy.util import greenlet_spawn

from tamis_producer.process import waiting
from tamis_producer.process.waiting import ON_THREAD, PAUSE, TURN, BesideLoop, OnLoop


def test_on_a_thread_items_come_as_they_are() -> None:
    assert list(ON_THREAD.in_turns(iter("abc"))) == ["a", "b", "c"]


async def test_on_a_loop_others_have_their_turn_whenever_a_slice_of_time_is_used_up() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def items() -> Iterator[int]:
        for number in range(10):
            until = waiting.time.perf_counter() + TURN  # each costs a slice
            while waiting.time.perf_counter() < until:
                pass
            yield number

    other = asyncio.ensure_future(count())
    assert await greenlet_spawn(lambda: list(OnLoop().in_turns(items()))) == list(range(10))
    other.cancel()
    assert turns >= 9


def test_beside_a_loop_the_thread_pauses_whenever_a_slice_of_time_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now, pauses = 0.0, list[float]()

    def cost(item: int) -> int:
        nonlocal now
        now += TURN * 0.6  # of ten items each second one uses a slice up
        return item

    monkeypatch.setattr(waiting, "time", SimpleNamespace(perf_counter=lambda: now, sleep=pauses.append))
    assert list(BesideLoop().in_turns(map(cost, range(10)))) == list(range(10))
    assert pauses == [PAUSE] * 5


async def test_on_a_loop_sleeping_lets_others_go_on() -> None:
    done = asyncio.Event()
    sleeping = asyncio.ensure_future(greenlet_spawn(OnLoop().sleep, 30))
    await asyncio.sleep(0)
    done.set()
    assert not sleeping.done()
    sleeping.cancel()
    await asyncio.gather(sleeping, return_exceptions=True)
    assert sleeping.cancelled()
