"""What can be seen of a worker process from outside its loop."""

import asyncio
import time
from collections.abc import Iterator

import fakeredis
import pytest

from tamis_producer import ProducerSettings
from tamis_producer.ledger.worker_view import WorkerState
from tamis_producer.transport.broker import make_app
from tamis_worker.celery_adapter.item_strategy import ItemStrategy
from tamis_worker.engine.backpressure import Backpressure, RequiredServer
from tamis_worker.engine.capacity import Capacity
from tamis_worker.engine.endpoint_health import EndpointFault
from tamis_worker.engine.group_commit import GroupCommit
from tamis_worker.engine.item_end import NoOutcome
from tamis_worker.event_loop.loop import BackgroundTasks, LoopThread
from tamis_worker.limiter.limiter import Limiters, Limits
from tamis_worker.liveness.vitals import PULSE, Vitals

NOWHERE = ProducerSettings(broker_url="redis://127.0.0.1:1/0", database_url="postgresql+psycopg://127.0.0.1:1/tamis")


class Process:
    """What the vital signs of a worker are taken from."""

    def __init__(self, loop: LoopThread) -> None:
        self.capacity = Capacity()
        self.deliveries = ItemStrategy(
            loop,
            lambda key, retried: asyncio.sleep(0, NoOutcome.SKIPPED),
            stop_within=1,
            standing_aside=lambda: self.capacity.waiting,
        )
        self.background = BackgroundTasks()
        self.commits: list[GroupCommit[int, None]] = []
        self.now = 1000.0
        self.faults: dict[str, EndpointFault] = {}
        self.backpressure = Backpressure(clock=lambda: self.now)
        redis = fakeredis.FakeAsyncRedis()
        limits = Limits(rpm=None, tpm=None, concurrency=4)
        self.limiters = Limiters(redis, "endpoint", limits, holder="w", lease=15)
        self.app = make_app(NOWHERE)
        self.vitals = Vitals(
            "w",
            self.app,
            self.deliveries,
            self.background,
            self.commits,
            self.limiters,
            self.capacity,
            self.backpressure,
            lambda: self.faults,
            concurrency=8,
            answer_within=0.2,
        )


@pytest.fixture
def process() -> Iterator[Process]:
    loop = LoopThread()
    loop.start()  # these tests have a loop of their own; one that was never started could not be stopped
    process = Process(loop)
    yield process
    process.app.close()
    process.deliveries.finished.close()
    loop.stop()


@pytest.fixture
def vitals(process: Process) -> Vitals:
    return process.vitals


async def test_a_background_task_that_ends_by_itself_is_seen(process: Process) -> None:
    going_on = asyncio.Event()
    process.background.start("heartbeat", going_on.wait())
    process.background.start("reconciler", asyncio.sleep(60))
    assert (await asyncio.to_thread(process.vitals.observe)).ended == ()
    going_on.set()
    await asyncio.sleep(0)
    assert (await asyncio.to_thread(process.vitals.observe)).ended == ("heartbeat",)
    await process.background.end()
    assert process.background.ended == ["heartbeat", "reconciler"]


async def test_a_writer_that_ended_is_seen_and_how_long_a_write_takes(process: Process) -> None:
    vitals = process.vitals
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def write(entries: object) -> list[None]:
        entered.set()
        await go_on.wait()
        return [None]

    slow: GroupCommit[int, None] = GroupCommit("results", write)
    never: GroupCommit[int, None] = GroupCommit("claims", write)  # never started, so it cannot have ended
    await slow.start()
    process.commits += [slow, never]
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
    await asyncio.sleep(0)
    first = vitals.observe().turns
    await asyncio.wait([pulse], timeout=4 * PULSE)  # it ends by no means
    assert vitals.observe().turns > first
    pulse.cancel()


async def test_a_broker_that_does_not_answer_says_nothing_of_what_waits(vitals: Vitals) -> None:
    assert (await asyncio.to_thread(vitals.observe)).waiting is None


async def test_to_stop_counts_more_than_trouble_and_trouble_more_than_work(process: Process) -> None:
    vitals = process.vitals
    assert vitals.report().state is WorkerState.WORKING
    assert not vitals.observe().holding_back
    process.now = time.monotonic() - 100
    process.backpressure.failed(RequiredServer.LEDGER, "results", "Postgres is full")
    held = vitals.report()
    assert (held.state, held.reason) == (WorkerState.HOLDING_BACK, "Postgres is full")
    assert 100 <= (held.state_for or 0) < 101  # since the trouble began, not since it is told
    assert vitals.observe().holding_back
    vitals.stop()
    assert vitals.report().state is WorkerState.STOPPING
    assert vitals.observe().stopping is not None


async def test_a_worker_whose_items_all_wait_for_capacity_says_so_and_has_room_for_others(process: Process) -> None:
    vitals = process.vitals
    assert vitals.report().state is WorkerState.WORKING
    process.capacity.waiting = 5
    report = vitals.report()
    assert (report.state, report.reason) == (WorkerState.WAITING, "the endpoint has no capacity at the flex tier")
    assert (await asyncio.to_thread(vitals.observe)).in_flight == -5  # five of those that it holds take no place


async def test_a_worker_waits_since_its_endpoint_first_asked_to_wait(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ItemStrategy, "evaluating", 1)
    limiter = await process.limiters.of("m")
    await limiter.block(100.0)
    first = process.vitals.report()
    await limiter.block(200.0)  # it asked again, for a longer wait
    later = process.vitals.report()
    assert (first.state, later.state) == (WorkerState.WAITING, WorkerState.WAITING)
    assert first.reason != later.reason
    assert (first.state_for, (later.state_for or 0.0) > 0.0) == (0.0, True)
    await process.limiters.close()
