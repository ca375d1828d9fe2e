"""Backpressure: when items and calls may be begun, and what the log says of it."""

import asyncio
import logging

import pytest

from tamis_worker.engine.backpressure import Backpressure, RequiredServer, Trouble

LEDGER, BROKER = RequiredServer.LEDGER, RequiredServer.BROKER


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def backpressure(clock: Clock) -> Backpressure:
    return Backpressure(clock=clock)


async def waits(backpressure: Backpressure, *, for_calls: bool = False) -> bool:
    """Whether somebody who asks now has to wait."""
    asked = asyncio.ensure_future(backpressure.clear_for_calls() if for_calls else backpressure.clear())
    await asyncio.sleep(0)
    done = asked.done()
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    return not done


async def test_nothing_waits_while_nothing_is_wrong(backpressure: Backpressure) -> None:
    assert backpressure.trouble is None
    assert not await waits(backpressure)
    assert not await waits(backpressure, for_calls=True)


async def test_without_a_ledger_neither_items_nor_calls_are_begun(backpressure: Backpressure) -> None:
    backpressure.failed(LEDGER, "results", "the disk is full")
    assert backpressure.trouble == Trouble(LEDGER, "the disk is full", since=100.0)
    assert await waits(backpressure)
    assert await waits(backpressure, for_calls=True)


async def test_without_a_broker_calls_of_items_already_claimed_go_on(backpressure: Backpressure) -> None:
    backpressure.failed(BROKER, "redis:6379", "away")
    assert await waits(backpressure)
    assert not await waits(backpressure, for_calls=True)


async def test_it_is_over_when_everybody_who_failed_has_got_through(backpressure: Backpressure) -> None:
    backpressure.failed(LEDGER, "results", "away")
    backpressure.failed(LEDGER, "heartbeat", "away")
    backpressure.worked(LEDGER, "heartbeat")
    assert await waits(backpressure)
    backpressure.worked(LEDGER, "results")
    assert backpressure.trouble is None
    assert not await waits(backpressure)


async def test_who_got_through_without_having_failed_ends_nothing(backpressure: Backpressure) -> None:
    backpressure.failed(LEDGER, "results", "away")
    backpressure.worked(LEDGER, "claims")
    backpressure.worked(BROKER, "results")
    assert await waits(backpressure)


async def test_items_wait_for_both_servers_and_the_ledger_is_named_first(backpressure: Backpressure) -> None:
    backpressure.failed(BROKER, "redis:6379", "full")
    waiting = asyncio.ensure_future(backpressure.clear())
    backpressure.failed(LEDGER, "results", "away")
    assert backpressure.trouble is not None
    assert backpressure.trouble.server is LEDGER
    backpressure.worked(BROKER, "redis:6379")
    await asyncio.sleep(0)
    assert not waiting.done()
    backpressure.worked(LEDGER, "results")
    await asyncio.wait_for(waiting, 10)


async def test_trouble_that_comes_back_before_a_waiter_ran_keeps_it_waiting(backpressure: Backpressure) -> None:
    backpressure.failed(LEDGER, "results", "away")
    waiting = asyncio.ensure_future(backpressure.clear_for_calls())
    await asyncio.sleep(0)
    backpressure.worked(LEDGER, "results")
    backpressure.failed(LEDGER, "results", "away again")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    backpressure.worked(LEDGER, "results")
    await asyncio.wait_for(waiting, 10)


async def test_the_log_gets_one_line_at_the_beginning_and_one_at_the_end(
    backpressure: Backpressure, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="tamis_worker.engine.backpressure"):
        for number in range(100):
            backpressure.failed(LEDGER, "results", f"try {number}")
            backpressure.failed(LEDGER, "claims", f"try {number}")
        clock.now += 90
        backpressure.worked(LEDGER, "results")
        backpressure.worked(LEDGER, "claims")
    assert caplog.messages == [
        "no item or call begins until results can be written: try 0",
        "the ledger works again after 90 s",
    ]
