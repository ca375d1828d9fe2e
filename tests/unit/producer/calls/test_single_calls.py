"""Calls of one question go together, and each caller has its own answer: nobody is disturbed by another."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_producer.calls.call_results import CallResults, FollowedBatch
from tamis_producer.calls.single_calls import CallGroups, CallQuestion
from tamis_producer.ledger import CallRepeated, CallResult
from tamis_producer.submission.new_batch import NewItem
from tamis_schemas import (
    EvaluationResult,
    Filter,
    ItemStatus,
    LedgerUnavailable,
    Steering,
    WaitTimeout,
)
from tamis_schemas.batches import wire

QUESTION = CallQuestion(Filter(criteria="Is it?"), "evaluation")
OTHERS = [
    CallQuestion(Filter(criteria="Is it not?"), "evaluation"),
    CallQuestion(Filter(criteria="Is it?", include_reasoning=False), "evaluation"),
    CallQuestion(Filter(criteria="Is it?"), "gateway"),
    CallQuestion(Filter(criteria="Is it?"), "evaluation", model="other-1"),
    CallQuestion(Filter(criteria="Is it?"), "evaluation", steering=Steering(extra_body={"seed": 1})),
    CallQuestion(Filter(criteria="Is it?"), "evaluation", fresh=True),
    CallQuestion(Filter(criteria="Is it?"), "evaluation", api_key_id="k1"),
]


class Ledger:
    """Takes batches; each is followed, and ended by the test."""

    def __init__(self) -> None:
        self.batches: list[tuple[CallQuestion, list[Any]]] = []
        self.known: dict[UUID, tuple[UUID, int]] = {}  # calls with an id: the batch and the place
        self.followed: list[FollowedBatch] = []
        self.away = False
        self.moved = asyncio.Event()

    async def submit(self, question: CallQuestion, items: Sequence[dict[str, Any] | NewItem], at_once: int) -> UUID:
        if self.away:
            raise LedgerUnavailable("away")
        assert at_once == len(items)  # none waits for another
        await asyncio.sleep(0)  # others have their turn, as while Postgres answers
        calls = [item.call_id for item in items if isinstance(item, NewItem) and item.call_id is not None]
        if len({*calls}) < len(calls) or self.known.keys() & {*calls}:
            raise CallRepeated("repeated")
        self.batches.append((question, [_number(item) for item in items]))
        batch_id = uuid4()
        self.known |= {call_id: (batch_id, place) for place, call_id in enumerate(calls)}
        return batch_id

    async def find(self, call_id: UUID) -> tuple[UUID, int] | None:
        known = self.known.get(call_id)
        await asyncio.sleep(0)
        return known

    def follow(self, batch_id: UUID, places: Iterable[int]) -> FollowedBatch:
        batch = FollowedBatch(batch_id, places, 0.0)
        self.followed.append(batch)
        self.moved.set()
        return batch

    async def waited_too_long(self, batch: FollowedBatch, within: float) -> WaitTimeout:
        return WaitTimeout(f"{batch.id} {within:g}")

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once it holds; what it is about changes when a batch is followed."""
        async with asyncio.timeout(10):
            while not condition():
                self.moved.clear()
                await self.moved.wait()

    def end(self) -> None:
        """Every item is decided: its place in its batch is its reasoning."""
        for batch in self.followed:
            batch.end({place: result(str(place)) for place in batch.pending})


def result(said: str) -> CallResult:
    return CallResult(ItemStatus.DECIDED, EvaluationResult(value=True, confidence=1.0, reasoning=said))


def _number(item: dict[str, Any] | NewItem) -> int:
    return int(item.item_id) if isinstance(item, NewItem) else int(item["n"])


def groups(ledger: Ledger) -> CallGroups:
    return CallGroups(ledger.submit, ledger.find, cast(CallResults, ledger))


def calling(
    calls: CallGroups,
    n: int,
    question: CallQuestion = QUESTION,
    within: float | None = None,
    call_id: UUID | None = None,
) -> Any:
    return asyncio.create_task(calls.call(question, NewItem(str(n), "{}", call_id=call_id), within))


async def test_the_first_call_goes_at_once_and_those_that_come_meanwhile_go_together() -> None:
    ledger = Ledger()
    calls = groups(ledger)
    tasks = [calling(calls, n) for n in range(5)]
    await ledger.until(lambda: len(ledger.followed) == 2)
    assert [numbers for _, numbers in ledger.batches] == [[0], [1, 2, 3, 4]]
    ledger.end()
    came = [one.result.reasoning for one in await asyncio.gather(*tasks)]
    assert came == ["0", "0", "1", "2", "3"]  # each has what came of its own place
    alone = calling(calls, 9)  # nothing is under way any more
    await ledger.until(lambda: len(ledger.followed) == 3)
    ledger.end()
    await alone


@pytest.mark.parametrize("other", OTHERS, ids=range(len(OTHERS)))
async def test_calls_that_differ_in_anything_share_no_batch(other: CallQuestion) -> None:
    ledger = Ledger()
    calls = groups(ledger)
    tasks = [calling(calls, n, question) for n in range(2) for question in (QUESTION, other) for _ in range(2)]
    await ledger.until(lambda: sum(len(numbers) for _, numbers in ledger.batches) == 8)
    assert {question.key for question, _ in ledger.batches} == {QUESTION.key, other.key}
    assert sorted(len(numbers) for _, numbers in ledger.batches) == [1, 1, 3, 3]
    ledger.end()
    await ledger.until(lambda: len(ledger.followed) == 4)
    ledger.end()
    await asyncio.gather(*tasks)


async def test_a_caller_that_is_cancelled_disturbs_no_other() -> None:
    ledger = Ledger()
    calls = groups(ledger)
    first, second, third = (calling(calls, n) for n in range(3))
    await asyncio.sleep(0)
    second.cancel()  # while it gathers
    await ledger.until(lambda: len(ledger.followed) == 2)
    first.cancel()  # while it is evaluated
    ledger.end()
    assert (await third).result.value is True
    assert [task.cancelled() for task in await _ended(first, second)] == [True, True]
    assert [numbers for _, numbers in ledger.batches] == [[0], [1, 2]]


async def test_where_a_batch_cannot_be_written_each_of_its_callers_hears_why_and_the_next_call_goes_again() -> None:
    ledger = Ledger()
    ledger.away = True
    calls = groups(ledger)
    came = await asyncio.gather(*(calling(calls, n) for n in range(3)), return_exceptions=True)
    assert [type(one) for one in came] == [LedgerUnavailable] * 3
    ledger.away = False
    again = calling(calls, 4)
    await ledger.until(lambda: len(ledger.followed) == 1)
    ledger.end()
    await again


async def test_no_more_than_the_bound_go_together() -> None:
    ledger = Ledger()
    calls = groups(ledger)
    tasks = [calling(calls, n) for n in range(1 + wire.SMALL + 2)]
    await ledger.until(lambda: len(ledger.followed) == 3)
    assert [len(numbers) for _, numbers in ledger.batches] == [1, wire.SMALL, 2]
    ledger.end()
    await asyncio.gather(*tasks)


async def test_a_call_that_waits_too_long_leaves_the_others_waiting() -> None:
    ledger = Ledger()
    calls = groups(ledger)
    patient = [calling(calls, n) for n in range(2)]
    with pytest.raises(WaitTimeout, match=r"0\.01"):
        await calling(calls, 2, within=0.01)
    ledger.end()
    assert [one.result.value for one in await asyncio.gather(*patient)] == [True, True]


async def test_a_batch_of_ones_own_is_shared_with_nobody() -> None:
    ledger = Ledger()
    calls = groups(ledger)
    single = [calling(calls, n) for n in range(2)]
    many = asyncio.create_task(calls.batch(QUESTION, [{"n": 10}, {"n": 11}], 2, None))
    await ledger.until(lambda: len(ledger.followed) == 3)
    assert sorted(numbers for _, numbers in ledger.batches) == [[0], [1], [10, 11]]
    ledger.end()
    assert [one.result.reasoning for one in await many if isinstance(one.result, EvaluationResult)] == ["0", "1"]
    await asyncio.gather(*single)


@given(messages=st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=20))
def test_however_often_and_whenever_a_message_comes_its_item_is_in_one_batch_once(
    messages: list[tuple[int, bool]],
) -> None:
    """Of each message: its call, and whether the loop has a turn (a batch may begin) before the next one comes."""

    async def deliver() -> None:
        ledger = Ledger()
        calls = groups(ledger)
        tasks = []
        for n, turn in messages:
            tasks.append(calling(calls, n, call_id=UUID(int=n)))
            if turn:
                await asyncio.sleep(0)
        unfinished = {*tasks}
        while unfinished:
            ledger.end()
            _, unfinished = await asyncio.wait(tasks, timeout=0.001)
        asked = Counter(n for _, numbers in ledger.batches for n in numbers)
        assert asked == Counter({n for n, _ in messages})
        for (n, _), task in zip(messages, tasks, strict=True):
            assert task.result().result.reasoning == str(ledger.known[UUID(int=n)][1])  # of its own place

    asyncio.run(deliver())


async def _ended(*tasks: "asyncio.Task[Any]") -> tuple["asyncio.Task[Any]", ...]:
    await asyncio.wait(tasks, timeout=10)
    return tasks
