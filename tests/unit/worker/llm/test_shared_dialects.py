"""One call at a time finds out, of all workers together; afterwards nobody waits, and everybody hears."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from tamis_schemas import LedgerUnavailable
from tamis_worker.llm import shared_dialects
from tamis_worker.llm.chat import LOWEST, START, Rung
from tamis_worker.llm.dialect import FEW, MAX_WASTED, Adherence, RungState
from tamis_worker.llm.dialect_store import CLIMB_AFTER, Leased, MemoryDialects
from tamis_worker.llm.shared_dialects import SharedDialects

Answer = Callable[[Rung], Adherence]

USABLE, OTHER = Adherence.USABLE, Adherence.OTHER_SHAPE


@dataclass
class Endpoint:
    """Answers as told; counts what could not be used, and how many calls were in flight at once."""

    answer: Answer
    calls: list[Rung] = field(default_factory=list)
    wasted: int = 0
    in_flight: int = 0
    most: int = 0  # in flight, until the first usable answer
    answered: bool = False

    async def ask(self, rung: Rung) -> Adherence:
        self.calls.append(rung)
        self.in_flight += 1
        if not self.answered:
            self.most = max(self.most, self.in_flight)
        await asyncio.sleep(0.001)
        self.in_flight -= 1
        adherence = self.answer(rung)
        self.wasted += adherence is not USABLE
        self.answered |= adherence is USABLE
        return adherence


async def item(dialects: SharedDialects, endpoint: Endpoint, model: str = "m", calls: int = 5) -> bool:
    """One item, asked until an answer can be used."""
    for _ in range(calls):
        with dialects.turn(model) as turn:
            await turn.wait()
            rung = dialects.next_rung(model)
            adherence = await endpoint.ask(rung)
            await dialects.record_answer(model, rung, adherence)
        if adherence is USABLE:
            return True
    return False


def only(*good: Rung) -> Answer:
    return lambda rung: USABLE if rung in good else OTHER


def crew(store: MemoryDialects, size: int = 4) -> list[SharedDialects]:
    return [SharedDialects(store) for _ in range(size)]


async def closed(workers: Sequence[SharedDialects]) -> None:
    for worker in workers:
        await worker.close()


@pytest.mark.parametrize("rung", [rung for rung in Rung if rung is not Rung.BOUNDED])
async def test_four_workers_waste_no_more_than_the_steps_to_the_rung_that_is_followed(rung: Rung) -> None:
    workers, endpoint = crew(MemoryDialects()), Endpoint(only(rung))
    decided = await asyncio.gather(*(item(workers[n % 4], endpoint) for n in range(400)))
    await closed(workers)
    assert all(decided)
    steps = [Rung.STRICT, Rung.JSON_OBJECT, Rung.TEXT, Rung.REMINDED].index(rung)
    assert endpoint.wasted == steps
    assert endpoint.most == 1
    assert len(endpoint.calls) == 400 + steps


@pytest.mark.parametrize("first", [Adherence.OUT_OF_BOUNDS, OTHER])
async def test_three_answers_are_wasted_where_only_the_lowest_rung_is_followed(first: Adherence) -> None:
    answers = dict.fromkeys(Rung, OTHER) | {START: first, LOWEST: USABLE}
    workers, endpoint = crew(MemoryDialects()), Endpoint(lambda rung: answers[rung])
    assert all(await asyncio.gather(*(item(workers[n % 4], endpoint) for n in range(40))))
    await closed(workers)
    assert endpoint.wasted == MAX_WASTED


async def test_a_worker_that_comes_later_finds_the_proven_rung_and_no_gate() -> None:
    store, endpoint = MemoryDialects(), Endpoint(only(Rung.TEXT))
    (first,) = crew(store, 1)
    await item(first, endpoint)
    later = SharedDialects(store)
    with later.turn("m") as one, later.turn("m") as another:
        await one.wait()
        await another.wait()
        assert later.next_rung("m") is Rung.TEXT
    await closed([first, later])


async def test_models_do_not_wait_for_each_other() -> None:
    (dialects,) = crew(MemoryDialects(), 1)
    with dialects.turn("m") as one, dialects.turn("n") as another:
        await one.wait()
        await another.wait()
    await closed([dialects])


async def test_a_call_that_takes_long_lets_another_one_find_out() -> None:
    first, second = crew(MemoryDialects(lease_for=0.05), 2)
    with first.turn("m") as slow, second.turn("m") as next_one:
        await slow.wait()
        async with asyncio.timeout(10):
            await next_one.wait()
    await closed([first, second])


async def test_the_end_of_a_call_wakes_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_dialects, "LOOK_AGAIN", (60.0, 60.0))
    (dialects,) = crew(MemoryDialects(), 1)
    with dialects.turn("m") as turn:
        await turn.wait()
        waiting = asyncio.create_task(item(dialects, Endpoint(only(START))))
        await asyncio.sleep(0.01)
    async with asyncio.timeout(10):
        assert await waiting
    await closed([dialects])


async def test_a_wait_that_is_cancelled_leaves_no_lease_behind() -> None:
    store = MemoryDialects()
    first, second = crew(store, 2)
    with first.turn("m") as held:
        await held.wait()

        async def wait() -> None:
            with second.turn("m") as turn:
                await turn.wait()

        waiting = [asyncio.create_task(wait()) for _ in range(3)]
        await asyncio.sleep(0.01)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    await closed([first, second])
    assert (await store.lease("m", "another")).granted


async def test_a_lease_that_is_granted_to_nobody_any_more_is_given_up() -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    class Slow(MemoryDialects):
        async def lease(self, model: str, holder: str) -> Leased:
            asked.set()
            await answer.wait()
            return await super().lease(model, holder)

    store = Slow()
    (dialects,) = crew(store, 1)
    with dialects.turn("m") as turn:
        waiting = asyncio.create_task(turn.wait())
        await asked.wait()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    answer.set()
    await closed([dialects])
    assert (await store.lease("m", "another")).granted


async def test_a_call_that_fails_or_is_cut_off_lets_the_next_one_in() -> None:
    (dialects,) = crew(MemoryDialects(), 1)

    async def fail() -> None:
        with dialects.turn("m") as turn:
            await turn.wait()
            raise ValueError("cut off")

    with pytest.raises(ValueError, match="cut off"):
        await fail()
    async with asyncio.timeout(5):
        with dialects.turn("m") as turn:
            await turn.wait()
    await closed([dialects])


async def test_an_endpoint_that_does_what_it_was_told_is_not_asked_one_by_one() -> None:
    """Though its answers could not be used yet: the operation refuses them for another reason."""
    (dialects,) = crew(MemoryDialects(), 1)
    await dialects.record_answer("m", START, Adherence.FOLLOWED)
    with dialects.turn("m") as one, dialects.turn("m") as another:
        async with asyncio.timeout(5):
            await one.wait()
            await another.wait()
    assert not dialects.rung_state("m").proven
    await closed([dialects])


async def test_answers_in_flight_from_before_a_step_do_not_step_again() -> None:
    store = MemoryDialects()
    await store.exchange("m", RungState(), RungState(START, proven=True))
    workers = crew(store)
    for worker in workers:  # 32 answers of the old rung each
        for _ in range(32):
            await worker.record_answer("m", START, OTHER)
    assert await store.look("m") == RungState(Rung.JSON_OBJECT, unusable=1)
    await closed(workers)


async def test_one_odd_record_and_its_repair_are_one_glitch() -> None:
    (dialects,) = crew(MemoryDialects(), 1)
    await dialects.record_answer("m", START, USABLE)
    for _ in range(FEW - 1):
        await dialects.record_answer("m", START, OTHER)
        await dialects.record_answer("m", START, OTHER, repair=True)
    assert dialects.rung_state("m") == RungState(proven=True)
    await dialects.record_answer("m", START, OTHER)
    assert dialects.next_rung("m") is Rung.JSON_OBJECT
    await closed([dialects])


async def test_a_step_is_heard_by_the_others_without_a_bad_answer_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_dialects, "FRESH", 0.0)
    store = MemoryDialects()
    await store.exchange("m", RungState(), RungState(START, proven=True))
    (listener,) = crew(store, 1)
    await item(listener, Endpoint(only(START)))
    await store.exchange("m", RungState(START, proven=True), RungState(Rung.TEXT, proven=True))
    await item(listener, Endpoint(only(START, Rung.TEXT)))  # looks again, beside the call
    await asyncio.sleep(0.01)
    assert listener.next_rung("m") is Rung.TEXT
    await closed([listener])


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("better", "rung"), [(True, START), (False, Rung.TEXT)])
async def test_after_a_day_one_call_tries_the_first_rung_anew(
    monkeypatch: pytest.MonkeyPatch, better: bool, rung: Rung
) -> None:
    monkeypatch.setattr(shared_dialects, "FRESH", 0.0)
    clock = Clock()
    store = MemoryDialects(clock)
    await store.exchange("m", RungState(), RungState(Rung.TEXT, proven=True))
    clock.now = CLIMB_AFTER + 1
    workers = crew(store)
    endpoint = Endpoint(only(Rung.TEXT, *([START] if better else [])))
    for _ in range(5):
        await asyncio.gather(*(item(worker, endpoint) for worker in workers for _ in range(10)))
    await closed(workers)
    learned = await store.look("m")
    assert learned == RungState(rung, proven=True)
    assert learned is not None
    assert not learned.due
    if not better:
        assert endpoint.calls.count(START) == 1


async def test_a_rung_that_never_gave_an_answer_is_no_knowledge_after_a_day() -> None:
    clock = Clock()
    store = MemoryDialects(clock)
    await store.exchange("m", RungState(), RungState(LOWEST, unusable=3))
    clock.now = CLIMB_AFTER + 1
    (dialects,) = crew(store, 1)
    assert await item(dialects, Endpoint(only(START)))
    assert await store.look("m") == RungState(proven=True)
    await closed([dialects])


async def test_a_model_is_hopeless_once_after_so_many_answers_and_then_again() -> None:
    store = MemoryDialects()
    await store.exchange("m", RungState(), RungState(LOWEST))
    one, other = (SharedDialects(store, hopeless_after=4) for _ in range(2))
    told = []
    for n in range(8):
        worker = (one, other)[n % 2]
        await worker.record_answer("m", LOWEST, OTHER)
        told.append(await worker.hopeless("m"))
    assert told == [None, None, None, 4, None, None, None, 4]
    await closed([one, other])


async def test_one_good_answer_is_hope() -> None:
    store = MemoryDialects()
    await store.exchange("m", RungState(), RungState(LOWEST))
    dialects = SharedDialects(store, hopeless_after=4)
    for adherence in [OTHER, OTHER, OTHER, USABLE, *[OTHER] * 10]:
        await dialects.record_answer("m", LOWEST, adherence)
        assert await dialects.hopeless("m") is None
    await closed([dialects])


class Away(MemoryDialects):
    """A ledger that is away."""

    async def look(self, model: str) -> RungState | None:
        raise LedgerUnavailable("away")

    async def lease(self, model: str, holder: str) -> Leased:
        raise LedgerUnavailable("away")

    async def exchange(self, model: str, seen: RungState, then: RungState) -> RungState:
        raise LedgerUnavailable("away")

    async def release(self, model: str, holder: str) -> None:
        raise LedgerUnavailable("away")


async def test_without_the_store_a_process_finds_out_alone_one_by_one() -> None:
    dialects, endpoint = SharedDialects(Away()), Endpoint(only(Rung.TEXT))
    async with asyncio.timeout(20):
        assert all(await asyncio.gather(*(item(dialects, endpoint) for _ in range(50))))
    assert (endpoint.wasted, endpoint.most) == (2, 1)
    await dialects.close()
