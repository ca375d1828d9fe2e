"""Which waits end when a worker stops or a batch no longer runs, and what a granted claim proves."""

import asyncio
from collections.abc import Collection
from uuid import UUID, uuid4

import pytest

from tamis_schemas import LedgerUnavailable, Pause, PauseKind
from tamis_worker.engine.batch_interrupts import BatchInterrupts, CutOff, Halted

A, B = uuid4(), uuid4()
BAD_KEY = Pause(kind=PauseKind.AUTHENTICATION, message="401")
BOUND = 5.0  # s


class Ledger:
    """What the batches' states are, and who paused what."""

    def __init__(self) -> None:
        self.halted: set[UUID] = set()
        self.pauses: list[tuple[UUID, Pause]] = []
        self.asked: list[set[UUID]] = []
        self.away = 0  # tries that fail

    async def write(self, batch_id: UUID, pause: Pause) -> bool:
        if self.away:
            self.away -= 1
            raise LedgerUnavailable("away")
        await asyncio.sleep(0)
        self.pauses.append((batch_id, pause))
        return True

    async def not_running(self, batch_ids: Collection[UUID]) -> Collection[UUID]:
        self.asked.append(set(batch_ids))
        await asyncio.sleep(0)
        return self.halted & set(batch_ids)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def interrupts(ledger: Ledger) -> BatchInterrupts:
    return BatchInterrupts(ledger.write)


async def waiting(interrupts: BatchInterrupts, batch_id: UUID) -> "asyncio.Task[str]":
    """An item of the batch that waits for ever, unless it is halted."""

    async def item() -> str:
        try:
            with interrupts.held(batch_id, interrupts.generation, index=0), interrupts.interruptible(batch_id):
                await asyncio.Event().wait()
        except Halted:
            return "halted"
        return "went on"

    task = asyncio.create_task(item())
    await asyncio.sleep(0)
    return task


async def ended(task: "asyncio.Task[str]") -> str:
    return await asyncio.wait_for(task, BOUND)


async def test_a_stopping_worker_ends_every_wait_and_those_to_come(interrupts: BatchInterrupts) -> None:
    tasks = [await waiting(interrupts, A), await waiting(interrupts, B)]
    interrupts.stop()
    assert [await ended(task) for task in tasks] == ["halted", "halted"]
    with pytest.raises(Halted), interrupts.interruptible(A):
        pass


async def test_a_batch_that_no_longer_runs_is_halted_and_no_other(interrupts: BatchInterrupts, ledger: Ledger) -> None:
    paused, running = await waiting(interrupts, A), await waiting(interrupts, B)
    ledger.halted = {A}
    await interrupts.refresh(ledger.not_running)
    assert await ended(paused) == "halted"
    await asyncio.sleep(0)
    assert not running.done()
    interrupts.stop()
    assert await ended(running) == "halted"


async def test_an_item_that_others_have_taken_is_halted_alone_with_all_that_is_asked_for_it(
    interrupts: BatchInterrupts,
) -> None:
    async def item(index: int) -> str:
        async def question() -> None:
            with interrupts.interruptible(A):
                await asyncio.Event().wait()

        try:
            with interrupts.held(A, interrupts.generation, index=index):
                await asyncio.gather(question(), question())
        except Halted:
            return "halted"
        return "went on"

    async def not_claimed_yet() -> str:
        with interrupts.interruptible(A):
            await asyncio.Event().wait()
        return "went on"

    taken, kept, coming = (asyncio.create_task(one) for one in (item(1), item(2), not_claimed_yet()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    interrupts.revoke([(A, 1)])
    assert await ended(taken) == "halted"
    await asyncio.sleep(0)
    assert not kept.done()
    assert not coming.done()
    for task in (kept, coming):
        task.cancel()
    await asyncio.gather(kept, coming, return_exceptions=True)


async def test_an_item_that_was_lost_begins_no_call_until_it_is_claimed_again(interrupts: BatchInterrupts) -> None:
    with interrupts.held(A, interrupts.generation, index=1):
        interrupts.revoke([(A, 1)])  # while a call is in flight
        with pytest.raises(Halted), interrupts.interruptible(A):
            pass
    with interrupts.held(A, interrupts.generation, index=1), interrupts.interruptible(A):
        pass


async def test_what_is_not_interruptible_is_finished(interrupts: BatchInterrupts, ledger: Ledger) -> None:
    answer = asyncio.Event()

    async def call() -> str:
        with interrupts.held(A, interrupts.generation, index=0):
            await answer.wait()
            return "answered"

    task = asyncio.create_task(call())
    await asyncio.sleep(0)
    ledger.halted = {A}
    await interrupts.refresh(ledger.not_running)
    answer.set()
    assert await ended(task) == "answered"


async def test_a_claim_asked_for_after_the_halt_and_granted_proves_that_the_batch_runs(
    interrupts: BatchInterrupts, ledger: Ledger
) -> None:
    with interrupts.held(A, interrupts.generation, index=0):
        ledger.halted = {A}
        await interrupts.refresh(ledger.not_running)
    with interrupts.held(A, interrupts.generation, index=0), interrupts.interruptible(A):
        pass


async def test_a_claim_asked_for_before_the_halt_proves_nothing(interrupts: BatchInterrupts, ledger: Ledger) -> None:
    with interrupts.held(A, interrupts.generation, index=0):
        asked = interrupts.generation
        ledger.halted = {A}
        await interrupts.refresh(ledger.not_running)
    with interrupts.held(A, asked, index=0), pytest.raises(Halted), interrupts.interruptible(A):
        pass


async def test_an_answer_of_the_ledger_that_is_older_than_a_claim_halts_nothing(
    interrupts: BatchInterrupts, ledger: Ledger
) -> None:
    async def resumed_meanwhile(batch_ids: Collection[UUID]) -> Collection[UUID]:
        nonlocal item
        item = await waiting(interrupts, A)
        return {A}

    item: asyncio.Task[str] | None = None
    with interrupts.held(A, interrupts.generation, index=0):
        await interrupts.refresh(resumed_meanwhile)
    await asyncio.sleep(0)
    assert item is not None
    assert not item.done()
    item.cancel()


async def test_an_answer_of_the_ledger_that_is_older_than_a_pause_does_not_undo_it(interrupts: BatchInterrupts) -> None:
    async def paused_meanwhile(batch_ids: Collection[UUID]) -> Collection[UUID]:
        await interrupts.pause(A, BAD_KEY)
        return set()

    with interrupts.held(A, interrupts.generation, index=0):
        await interrupts.refresh(paused_meanwhile)
        with pytest.raises(Halted), interrupts.interruptible(A):
            pass


async def test_a_batch_that_runs_again_is_halted_no_more(interrupts: BatchInterrupts, ledger: Ledger) -> None:
    with interrupts.held(A, interrupts.generation, index=0):
        ledger.halted = {A}
        await interrupts.refresh(ledger.not_running)
        ledger.halted = set()
        await interrupts.refresh(ledger.not_running)
        with interrupts.interruptible(A):
            pass


async def test_nothing_is_asked_where_nothing_is_held(interrupts: BatchInterrupts, ledger: Ledger) -> None:
    assert await interrupts.refresh(ledger.not_running) == []
    with interrupts.held(A, interrupts.generation, index=0):
        await interrupts.refresh(ledger.not_running)
    await interrupts.refresh(ledger.not_running)  # once more: how it stands now that its last item has ended here
    await interrupts.refresh(ledger.not_running)
    assert ledger.asked == [{A}, {A}]


async def test_halted_batches_of_which_nothing_is_left_here_are_told_once(
    interrupts: BatchInterrupts, ledger: Ledger
) -> None:
    ledger.halted = {A}
    with interrupts.held(A, interrupts.generation, index=0):
        assert await interrupts.refresh(ledger.not_running) == []
    assert await interrupts.refresh(ledger.not_running) == [A]
    assert await interrupts.refresh(ledger.not_running) == []


async def test_of_many_that_pause_a_batch_at_once_one_writes(interrupts: BatchInterrupts, ledger: Ledger) -> None:
    with interrupts.held(A, interrupts.generation, index=0):
        await asyncio.gather(*(interrupts.pause(A, BAD_KEY) for _ in range(50)))
    assert ledger.pauses == [(A, BAD_KEY)]


async def test_a_pause_waits_for_a_ledger_that_is_away(interrupts: BatchInterrupts, ledger: Ledger) -> None:
    ledger.away = 2
    await asyncio.wait_for(interrupts.pause(A, BAD_KEY), BOUND)
    assert ledger.pauses == [(A, BAD_KEY)]


async def test_where_the_ledger_is_away_nothing_is_halted(interrupts: BatchInterrupts) -> None:
    async def away(batch_ids: Collection[UUID]) -> Collection[UUID]:
        raise LedgerUnavailable("away")

    item = await waiting(interrupts, A)
    with pytest.raises(LedgerUnavailable):
        await interrupts.refresh(away)
    await asyncio.sleep(0)
    assert not item.done()
    item.cancel()


async def test_a_task_that_somebody_else_cancels_is_cancelled(interrupts: BatchInterrupts) -> None:
    task = await waiting(interrupts, A)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def calling(interrupts: BatchInterrupts, index: int) -> "asyncio.Task[str]":
    """An item with a call in flight that never ends, and a wait after it."""

    async def item() -> str:
        with interrupts.held(A, interrupts.generation, index=index):
            try:
                with interrupts.cuttable():
                    await asyncio.Event().wait()
            except CutOff:
                with pytest.raises(Halted), interrupts.interruptible(A):  # it gets no second call
                    pass
                return "cut off"
        return "went on"

    task = asyncio.create_task(item())
    await asyncio.sleep(0)
    return task


async def test_an_item_that_is_cancelled_stops_waiting_and_no_other_one_does(interrupts: BatchInterrupts) -> None:
    one, other = await waiting(interrupts, A), await waiting(interrupts, B)
    interrupts.cancel((A, 0))
    assert await ended(one) == "halted"
    assert interrupts.cancels((A, 0))
    assert not interrupts.cancels((B, 0))
    interrupts.forget((A, 0))
    again = await waiting(interrupts, A)
    assert not again.done()
    interrupts.stop()
    await asyncio.gather(again, other)


async def test_a_call_in_flight_is_cut_off_only_where_its_item_is_not_to_be_waited_for(
    interrupts: BatchInterrupts,
) -> None:
    cut, spared, other = [await calling(interrupts, index) for index in range(3)]
    interrupts.cancel((A, 1))
    interrupts.cancel((A, 0), cut=True)
    assert await ended(cut) == "cut off"
    await asyncio.sleep(0)
    assert not spared.done()
    assert not other.done()
    for task in (spared, other):  # as the loop does at its end: that is no cut
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
