"""A question at the flex tier: no capacity is no attempt, holds no money and no permit, and blocks nobody."""

import asyncio
from collections.abc import Iterable
from typing import Any
from uuid import UUID, uuid4

import pytest

from tamis_schemas import ErrorKind, Filter, Pause, Prices, Steering, Tier, Usage
from tamis_worker.engine.batch_interrupts import BatchInterrupts, Halted
from tamis_worker.engine.call_accounting import CallAccounting
from tamis_worker.engine.capacity import Capacity
from tamis_worker.engine.endpoint_health import EndpointHealth
from tamis_worker.engine.question_runner import QuestionRunner
from tamis_worker.engine.retry import RetryPolicy
from tamis_worker.ledger.batches import BatchTerms
from tamis_worker.llm.chat import CallError, ChatAnswer, ChatRequest, Message, Reply
from tamis_worker.llm.llm import LearnResult
from tamis_worker.llm.shared_dialects import DialectTurn, SharedDialects
from tamis_worker.operations import Failure

POLICY = RetryPolicy(max_calls=2, deadline=900.0)
GONE = CallError(ErrorKind.RATE_LIMITED, "resource unavailable", status=429, no_capacity=True)
LATE = CallError(ErrorKind.TIMEOUT, "no answer in time", latency_ms=900_000)
ANSWER = ChatAnswer('{"value": true}', "m", Usage(10, 5), "stop", latency_ms=0, tier="flex")
BOUND = 5.0


class World:
    """Stands for all that an asker speaks to: replies in order, and what was done about them."""

    def __init__(self, replies: Iterable[Reply]) -> None:
        self._replies = iter(replies)
        self.calls: list[ChatRequest] = []
        self.permits = self.voided = self.reserved = 0
        self.told: list[str] = []
        self.broken = False

    def dialect_turn(self, request: ChatRequest) -> DialectTurn:
        return SharedDialects().turn(request.model)

    async def learn(self, request: ChatRequest, reply: Reply, *, usable: bool) -> LearnResult:
        return LearnResult()

    async def ask(self, request: ChatRequest) -> Reply:
        if request.schema_name == "probe":
            return ANSWER
        self.calls.append(request)
        return next(self._replies)

    async def of(self, model: str) -> "World":
        return self

    async def acquire(self, *_: object, **__: object) -> object:
        self.permits += 1
        return object()

    async def release(self, *_: object) -> None:
        self.permits -= 1

    def void(self, permit: object) -> None:
        self.voided += 1

    async def block(self, seconds: float) -> None:
        self.told.append("blocked")

    def observe(self, *_: object) -> None:
        """No limit is told."""

    def congested(self) -> None:
        self.told.append("congested")

    async def sleep(self, seconds: float) -> None:
        self.told.append("slept")

    async def reserve(self, *_: object) -> object:
        if self.broken:
            raise RuntimeError("the ledger is broken")
        self.reserved += 1
        return object()

    async def settle(self, *_: object) -> None:
        self.reserved -= 1

    def give_back(self, reservation: object) -> None:
        self.reserved -= 1


class Asking:
    """An item of a batch at the flex tier."""

    def __init__(self, *replies: Reply, steering: Steering, first: float = 0.01) -> None:
        self.world: Any = World(replies)
        self.terms = BatchTerms(uuid4(), Filter(criteria="Is it?"), None, budgeted=True, steering=steering)
        self.interrupts = BatchInterrupts(self._pause)
        self.capacity = Capacity(most=2, usual=120.0, first=first, longest=first)
        self.accounting = CallAccounting()
        w = self.world
        self.asker = QuestionRunner(
            *(w, w, POLICY, self.interrupts, w, w, Prices({})),
            sleep=w.sleep,
            new_health=lambda: EndpointHealth(spacing=0.0, grace=0.0),
            capacity=self.capacity,
        )

    async def _pause(self, batch_id: UUID, pause: Pause) -> bool:
        return True

    async def ask(self) -> bool | Failure:
        request = ChatRequest(
            "m", (Message("user", "Is it?"),), "filter", {}, 0.0, 100, options=self.terms.steering.options
        )
        asked = self.asker.ask(request, lambda data: bool(data), self.accounting, self.terms, key=None)
        return await asyncio.wait_for(asked, BOUND)

    @property
    def tiers(self) -> list[object]:
        return [call.options["service_tier"] for call in self.world.calls]


FLEX = Steering(tier=Tier.FLEX)
IMPATIENT = Steering(tier=Tier.FLEX, tier_patience=0)


async def test_no_capacity_is_no_attempt_however_often_it_comes() -> None:
    asking = Asking(*[GONE] * 10, ANSWER, steering=FLEX)
    assert await asking.ask() is True
    assert asking.tiers == ["flex"] * 11  # two calls may count: the eleventh is the first that does
    assert asking.world.told == []
    assert (asking.world.permits, asking.world.reserved, asking.world.voided) == (0, 0, 10)
    assert (asking.accounting.worked, asking.accounting.longest, asking.accounting.tier) == (0.0, 0.0, "flex")


async def test_after_its_patience_the_question_goes_out_at_the_standard_tier() -> None:
    asking = Asking(GONE, ANSWER, steering=IMPATIENT, first=60.0)
    assert await asking.ask() is True
    assert asking.tiers == ["flex", "default"]


async def test_at_another_tier_it_is_a_rate_limit_like_any_other() -> None:
    asking = Asking(GONE, ANSWER, steering=Steering(tier=Tier.PRIORITY))
    assert await asking.ask() is True
    assert "blocked" in asking.world.told


async def test_a_flex_call_without_an_answer_is_made_once_more_though_it_alone_took_the_deadline() -> None:
    asking = Asking(LATE, ANSWER, steering=FLEX)
    assert await asking.ask() is True
    assert 120.0 <= asking.accounting.longest < 120.0 + 60.0  # a usual call's time, and one wait before the second


@pytest.mark.parametrize("how", ["stop", "lose"])
async def test_waiting_for_capacity_ends_at_once_and_holds_nothing(how: str) -> None:
    asking = Asking(GONE, steering=FLEX, first=60.0)

    async def item() -> bool | Failure:
        with asking.interrupts.held(asking.terms.batch_id, 0, index=7):
            return await asking.ask()

    task = asyncio.create_task(item())
    for _ in range(50):
        await asyncio.sleep(0)
    assert asking.capacity.waiting == 1
    assert (asking.world.permits, asking.world.reserved) == (0, 0)
    if how == "stop":
        asking.interrupts.stop()
    else:
        asking.interrupts.revoke([(asking.terms.batch_id, 7)])
    with pytest.raises(Halted):
        await task
    assert asking.capacity.waiting == 0


async def test_a_place_is_left_where_no_money_can_be_reserved() -> None:
    asking = Asking(ANSWER, steering=FLEX)
    asking.world.broken = True
    for _ in range(3):  # two calls may be in flight
        with pytest.raises(RuntimeError):
            await asking.ask()
    asking.world.broken = False
    assert await asking.ask() is True
