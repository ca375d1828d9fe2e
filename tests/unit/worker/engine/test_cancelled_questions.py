"""What a question comes to whose item is cancelled while its call is in flight."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest

from tamis_schemas import Filter, Pause, Prices, Usage
from tamis_worker.engine.batch_interrupts import BatchInterrupts, Halted
from tamis_worker.engine.call_accounting import CallAccounting
from tamis_worker.engine.endpoint_health import EndpointHealth
from tamis_worker.engine.question_runner import QuestionRunner
from tamis_worker.engine.retry import RetryPolicy
from tamis_worker.ledger.batches import BatchTerms
from tamis_worker.llm.chat import ChatAnswer, ChatRequest, Message, Reply
from tamis_worker.llm.llm import LearnResult
from tamis_worker.llm.shared_dialects import DialectTurn, SharedDialects

TERMS = BatchTerms(uuid4(), Filter(criteria="Is it?"), model=None)
REQUEST = ChatRequest("m", (Message("user", "Is it?"),), "filter", {}, 0.0, 100)
ITEM = (TERMS.batch_id, 7)
BOUND = 5.0  # s


class Endpoint:
    """One call in flight until it is answered, and the permits that are out."""

    def __init__(self) -> None:
        self.calls = 0
        self.permits = 0
        self.asked = asyncio.Event()
        self.reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    async def ask(self, _: ChatRequest) -> Reply:
        self.calls += 1
        self.asked.set()
        return await self.reply

    def dialect_turn(self, request: ChatRequest) -> DialectTurn:
        return SharedDialects().turn(request.model)

    async def learn(self, *_: object, **__: object) -> LearnResult:
        return LearnResult()

    async def of(self, _: str) -> "Endpoint":
        return self

    async def acquire(self, *_: object, **__: object) -> object:
        self.permits += 1
        return object()

    async def release(self, *_: object) -> None:
        self.permits -= 1

    def give_back(self, reservation: object) -> None:
        """No budget: nothing is reserved."""


async def never(_: UUID, __: Pause) -> bool:
    raise AssertionError("the batch goes on")


class Asking:
    """One question of one item, with its call in flight."""

    def __init__(self) -> None:
        self.endpoint: Any = Endpoint()
        self.accounting = CallAccounting()
        self.interrupts = BatchInterrupts(never)
        e = self.endpoint
        self.runner = QuestionRunner(
            *(e, e, RetryPolicy(max_calls=5, deadline=900.0, base=1.0, cap=60.0), self.interrupts, e, e, Prices({})),
            new_health=lambda: EndpointHealth(spacing=0.0, grace=0.0),
        )

    async def begin(self) -> "asyncio.Task[object]":
        async def ask() -> object:
            with self.interrupts.held(TERMS.batch_id, self.interrupts.generation, index=ITEM[1]):
                return await self.runner.ask(REQUEST, bool, self.accounting, TERMS, key=None)

        task = asyncio.create_task(ask())
        await asyncio.wait_for(self.endpoint.asked.wait(), BOUND)
        return task


async def test_a_call_that_is_cut_off_counts_as_one_without_an_answer_and_is_not_made_again() -> None:
    asking = Asking()
    task = await asking.begin()
    assert asking.runner.breakers == {"m": "half open"}
    asking.interrupts.cancel(ITEM, cut=True)
    with pytest.raises(Halted):
        await asyncio.wait_for(task, BOUND)
    assert (asking.accounting.calls, asking.accounting.unanswered, asking.endpoint.calls) == (1, 1, 1)
    assert asking.endpoint.permits == 0


async def test_a_call_that_is_not_cut_off_is_finished_and_paid_for() -> None:
    asking = Asking()
    task = await asking.begin()
    asking.interrupts.cancel(ITEM)
    await asyncio.sleep(0)
    asking.endpoint.reply.set_result(ChatAnswer("{}", "m", Usage(prompt_tokens=10, completion_tokens=5), "stop", 1))
    await asyncio.wait_for(task, BOUND)
    assert (asking.accounting.calls, asking.accounting.unanswered) == (1, 0)
    assert asking.accounting.usage.total_tokens == 15
