"""The end of a worker's tasks."""

import asyncio

import pytest

from tamis_worker.event_loop import loop
from tamis_worker.event_loop.loop import end_tasks


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "CANCEL_AGAIN", 0.01)


async def test_a_task_that_loses_a_cancellation_is_cancelled_again() -> None:
    losses = 0

    async def loses_two() -> None:
        nonlocal losses
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                losses += 1
                if losses == 3:
                    raise

    task = asyncio.create_task(loses_two())
    await asyncio.sleep(0)
    await asyncio.wait_for(end_tasks(task), 10)
    assert task.cancelled()
    assert losses == 3


async def test_what_is_given_time_to_clean_up_is_not_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "CANCEL_AGAIN", 10.0)
    cleaned = asyncio.Event()

    async def cleans_up() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)
            cleaned.set()

    task = asyncio.create_task(cleans_up())
    await asyncio.sleep(0)
    await end_tasks(task)
    assert cleaned.is_set()


async def test_a_task_that_has_ended_or_fails_ends_nothing_else() -> None:
    async def fails() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            raise ValueError("at the end")

    done = asyncio.create_task(asyncio.sleep(0))
    failing, usual = asyncio.create_task(fails()), asyncio.create_task(asyncio.sleep(3600))
    await done
    await end_tasks(done, failing, usual)
    assert usual.cancelled()
    assert isinstance(failing.exception(), ValueError)


async def test_without_tasks_there_is_nothing_to_wait_for() -> None:
    await end_tasks()
