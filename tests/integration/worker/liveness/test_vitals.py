"""What can be seen of a worker process from outside its loop."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

import fakeredis
import pytest

from tamis_producer import ProducerSettings
from tamis_producer.ledger.worker_view import WorkerState
from tamis_producer.transport.broker import make_app
from tamis_worker.celery_adapter.item_strategy import ItemStrategy
from tamis_worker.engine.group_commit import GroupCommit
from tamis_worker.event_loop.loop import LoopThread
from tamis_worker.limiter.limits import Limiters, Limits
from tamis_worker.liveness.vitals import PULSE, Vitals

NOWHERE = ProducerSettings(broker_url="redis://127.0.0.1:1/0", database_url="postgresql+psycopg://127.0.0.1:1/tamis")


@dataclass(frozen=True)
class Trouble:
    reason: str
    since: float


@pytest.fixture
def vitals() -> Iterator[Vitals]:
    loop = LoopThread()
    loop.start()  # these tests have a loop of their own; one that was never started could not be stopped
    deliveries = ItemStrategy(loop, lambda key: asyncio.sleep(0), stop_within=1)
    app = make_app(NOWHERE)
    yield Vitals("w", app, deliveries, concurrency=8, answer_within=0.2)
    app.close()
    deliveries.finished.close()
    loop.stop()


def limiters() -> Limiters:
    redis = fakeredis.FakeAsyncRedis()
    return Limiters(redis, "endpoint", Limits(rpm=None, tpm=None, concurrency=4), holder="w", lease=15)


async def test_a_background_task_that_ends_by_itself_is_seen(vitals: Vitals) -> None:
    heartbeat = asyncio.create_task(asyncio.sleep(0), name="heartbeat")
    reconciler = asyncio.create_task(asyncio.sleep(60), name="reconciler")
    vitals.attend([heartbeat, reconciler], [], limiters(), lambda: None)
    await heartbeat
    assert (await asyncio.to_thread(vitals.observe)).ended == ("heartbeat",)
    reconciler.cancel()


async def test_a_writer_that_ended_is_seen_and_how_long_a_write_takes(vitals: Vitals) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def write(entries: object) -> list[None]:
        entered.set()
        await go_on.wait()
        return [None]

    slow: GroupCommit[int, None] = GroupCommit("results", write)
    never: GroupCommit[int, None] = GroupCommit("claims", write)  # never started, so it cannot have ended
    await slow.start()
    vitals.attend([], [slow, never], limiters(), lambda: None)
    assert vitals.observe().writing == 0.0
    waiting = asyncio.create_task(slow.submit(1))
    await entered.wait()
    assert vitals.observe().writing > 0.0
    assert vitals.observe().ended == ()
    go_on.set()
    await waiting
    assert vitals.observe().writing == 0.0
    await slow.close()
    assert vitals.observe().ended == ("the results writer",)


async def test_the_turns_of_the_loop_are_counted(vitals: Vitals) -> None:
    pulse = asyncio.create_task(vitals.pulse())
    vitals.attend([pulse], [], limiters(), lambda: None)
    await asyncio.sleep(0)
    first = vitals.observe().turns
    await asyncio.wait([pulse], timeout=4 * PULSE)  # it ends by no means
    assert vitals.observe().turns > first
    pulse.cancel()


async def test_a_broker_that_does_not_answer_says_nothing_of_what_waits(vitals: Vitals) -> None:
    vitals.attend([], [], limiters(), lambda: None)
    assert (await asyncio.to_thread(vitals.observe)).waiting is None


async def test_to_stop_counts_more_than_trouble_and_trouble_more_than_work(vitals: Vitals) -> None:
    troubles: list[Trouble] = []
    vitals.attend([], [], limiters(), lambda: troubles[-1] if troubles else None)
    assert vitals.report().state is WorkerState.WORKING
    assert not vitals.observe().holding_back
    troubles.append(Trouble("Postgres is full", since=time.monotonic() - 100))
    held = vitals.report()
    assert (held.state, held.reason) == (WorkerState.HOLDING_BACK, "Postgres is full")
    assert 100 <= (held.state_for or 0) < 101  # since the trouble began, not since it is told
    assert vitals.observe().holding_back
    vitals.stop()
    assert vitals.report().state is WorkerState.STOPPING
    assert vitals.observe().stopping is not None


async def test_a_worker_whose_items_all_wait_for_capacity_says_so_and_has_room_for_others(vitals: Vitals) -> None:
    aside = 0
    vitals._deliveries._aside = lambda: aside
    vitals.attend([], [], limiters(), lambda: None, lambda: aside)
    assert vitals.report().state is WorkerState.WORKING
    aside = 5
    report = vitals.report()
    assert (report.state, report.reason) == (WorkerState.WAITING, "the endpoint has no capacity at the flex tier")
    assert (await asyncio.to_thread(vitals.observe)).in_flight == -5  # five of those that it holds take no place
