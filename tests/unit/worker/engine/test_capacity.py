"""How calls at the flex tier wait for capacity: who finds out, how often, and how long an item waits."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from stage.counted_loop import CountedLoop
from tamis_schemas import ErrorKind, Steering, Tier, TierFallback, Usage
from tamis_worker.engine.capacity import CallSlot, Capacity, Waited
from tamis_worker.llm.chat import CallError, ChatAnswer, ChatRequest, Message, Reply

FLEX = Steering(tier=Tier.FLEX, tier_patience=600)
PATIENT = Steering(tier=Tier.FLEX, tier_patience=0, tier_fallback=TierFallback.WAIT)
REQUEST = ChatRequest("m", (Message("user", "Is it?"),), "filter", {}, 0.0, 100, options=FLEX.options, timeout=900.0)
STANDARD = replace(REQUEST, options={}, timeout=None)
ANSWER = ChatAnswer("{}", "m", Usage(1, 1), "stop", latency_ms=0)
GONE = CallError(ErrorKind.RATE_LIMITED, "resource unavailable", status=429, no_capacity=True)
SERVER = CallError(ErrorKind.SERVER, "500", status=500)
WAIT = 2.0  # s
BOUND = 5.0
LOOPS = {"counted": CountedLoop}


def capacity(most: int = 4, **options: Any) -> Capacity:
    return Capacity(most=most, usual=120.0, **{"first": WAIT, "longest": WAIT, "jitter": lambda: 0.0} | options)


async def entered(of: Capacity, request: ChatRequest = REQUEST, steering: Steering = FLEX) -> CallSlot:
    return await asyncio.wait_for(of.place(request, steering, Waited()), BOUND)


async def stands_aside(of: Capacity, steering: Steering = FLEX) -> "asyncio.Task[CallSlot]":
    """An item that waits; tasks run as far as they get."""
    before = of.waiting
    task = asyncio.create_task(of.place(REQUEST, steering, Waited()))
    await asyncio.sleep(0)
    assert of.waiting == before + 1
    return task


def end(place: CallSlot, reply: Reply) -> Reply:
    heard = place.heard(reply)
    place.leave()
    return heard


async def closed(of: Capacity) -> None:
    """One call was refused."""
    end(await entered(of), GONE)


async def test_while_there_is_capacity_nobody_waits() -> None:
    of = capacity(most=4)
    places = [await entered(of) for _ in range(4)]
    assert of.waiting == 0
    assert all(place.request is REQUEST for place in places)


async def test_no_more_calls_are_in_flight_than_may_be() -> None:
    of = capacity(most=2)
    first, _ = await entered(of), await entered(of)
    third = await stands_aside(of)
    first.leave()
    first.leave()  # a second time changes nothing
    await asyncio.wait_for(third, BOUND)
    fourth = await stands_aside(of)
    assert not fourth.done()
    fourth.cancel()


async def test_without_capacity_one_call_at_a_time_finds_out() -> None:
    of = capacity(most=4)
    await closed(of)
    waiting = [await stands_aside(of) for _ in range(10)]
    for asked in range(3):
        done, _ = await asyncio.wait(waiting, timeout=BOUND, return_when=asyncio.FIRST_COMPLETED)
        assert [task in done for task in waiting] == [True] + [False] * (len(waiting) - 1), f"call {asked}"
        end(waiting.pop(0).result(), GONE)
    for task in waiting:
        task.cancel()


async def test_with_each_answer_one_call_more_is_let_in() -> None:
    of = capacity(most=3)
    await closed(of)
    waiting = [await stands_aside(of) for _ in range(9)]
    flying: list[CallSlot] = []
    for most in (1, 2, 3, 3):
        while len(flying) < most:
            flying.append(await asyncio.wait_for(waiting.pop(0), BOUND))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        end(flying.pop(0), ANSWER)
    for task in waiting:
        task.cancel()


async def test_a_burst_that_is_refused_together_counts_once_and_every_further_refusal_doubles_the_wait() -> None:
    waits: list[float] = []

    def jitter() -> float:
        waits.append(asyncio.get_running_loop().time())
        return 0.0

    of = capacity(most=8, jitter=jitter)
    burst = [await entered(of) for _ in range(8)]
    for place in burst:
        end(place, GONE)
    assert len(waits) == 1
    end(await entered(of), GONE)
    assert len(waits) == 2
    assert waits[1] - waits[0] == WAIT / 2


@pytest.mark.parametrize(
    ("refusals", "jitter", "asked", "seconds"),
    [
        (1, 0.0, None, 0.5),  # 1 x 2^0 x (0.5 + 0.5 x 0)
        (1, 1.0, None, 1.0),  # 1 x 2^0 x (0.5 + 0.5 x 1)
        (4, 0.5, None, 6.0),  # 1 x 2^3 x (0.5 + 0.5 x 0.5)
        (7, 0.0, None, 30.0),  # min(60, 1 x 2^6 = 64) x 0.5
        (5_000, 1.0, None, 60.0),
        (1, 0.0, 20.0, 20.0),  # as the endpoint asks
        (1, 0.0, 3600.0, 60.0),  # but no longer than the longest
        (7, 1.0, 2.0, 60.0),  # and no sooner than without its asking
    ],
)
def test_waits_double_up_to_the_longest(refusals: int, jitter: float, asked: float | None, seconds: float) -> None:
    of = Capacity(jitter=lambda: jitter)
    assert of._waits.after(refusals, asked) == seconds


async def test_an_answer_to_a_call_from_before_the_last_refusal_opens_nothing() -> None:
    of = capacity(most=2)
    old, refused = await entered(of), await entered(of)
    end(refused, GONE)
    end(old, ANSWER)
    first, second = await stands_aside(of), await stands_aside(of)
    await asyncio.wait_for(first, BOUND)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not second.done()
    second.cancel()


async def test_an_error_of_another_kind_says_nothing_of_capacity() -> None:
    of = capacity(most=2)
    await closed(of)
    waiting = [await stands_aside(of) for _ in range(3)]
    end(await asyncio.wait_for(waiting.pop(0), BOUND), SERVER)
    await asyncio.wait_for(waiting.pop(0), BOUND)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting[0].done()
    waiting[0].cancel()


async def test_an_item_that_waited_enough_is_asked_at_the_standard_tier() -> None:
    of = capacity(longest=60.0, first=60.0)
    await closed(of)
    place = await entered(of, steering=Steering(tier=Tier.FLEX, tier_patience=WAIT))
    assert place.request == replace(REQUEST, options={"service_tier": "default"}, timeout=None)
    assert of.waiting == 0


async def test_patience_is_of_the_item_over_all_of_its_calls() -> None:
    of = capacity(longest=60.0, first=60.0)
    waited = Waited()
    first = await of.place(REQUEST, FLEX, waited)
    end(first, GONE)
    now = asyncio.get_running_loop().time()
    assert waited.left(FLEX, now) == pytest.approx(600, abs=1)
    waited.since = now - 601  # as if it had waited so long
    place = await asyncio.wait_for(of.place(REQUEST, FLEX, waited), BOUND)
    assert place.request.options["service_tier"] == "default"


async def test_an_item_that_is_to_wait_waits_on() -> None:
    of = capacity()
    await closed(of)
    task = await stands_aside(of, PATIENT)
    place = await asyncio.wait_for(task, BOUND)
    assert place.request is REQUEST


async def test_while_there_is_capacity_an_item_waits_for_its_turn_whatever_its_patience() -> None:
    of = capacity(most=1)
    inside = await entered(of)
    task = await stands_aside(of, Steering(tier=Tier.FLEX, tier_patience=0))
    await asyncio.sleep(0)
    end(inside, ANSWER)
    assert (await asyncio.wait_for(task, BOUND)).request is REQUEST


async def test_those_whose_patience_is_over_do_not_call_all_at_once() -> None:
    of = capacity(most=2, longest=60.0, first=60.0)
    await closed(of)
    impatient = Steering(tier=Tier.FLEX, tier_patience=0)
    first, _ = await entered(of, steering=impatient), await entered(of, steering=impatient)
    third = await stands_aside(of, impatient)
    first.leave()
    assert (await asyncio.wait_for(third, BOUND)).request.options["service_tier"] == "default"


async def test_whoever_is_cancelled_in_the_line_lets_the_next_one_on() -> None:
    of = capacity(most=1)
    await closed(of)
    first, second = await stands_aside(of), await stands_aside(of)
    first.cancel()
    await asyncio.wait_for(second, BOUND)
    assert first.cancelled()
    assert of.waiting == 0


async def test_models_wait_for_their_own_capacity() -> None:
    of = capacity(longest=60.0, first=60.0)
    await closed(of)
    other = replace(REQUEST, model="other")
    assert (await entered(of, other)).request is other


async def test_other_tiers_never_wait_and_take_no_capacity_for_a_rate_limit() -> None:
    of = capacity(most=1, longest=60.0, first=60.0)
    await closed(of)
    places = [await entered(of, STANDARD) for _ in range(10)]
    assert places[0].heard(GONE) == replace(GONE, no_capacity=False)
    assert places[0].heard(ANSWER) is ANSWER


@pytest.mark.parametrize(
    ("request_", "latency_ms", "seconds"),
    [(REQUEST, 30_000, 30.0), (REQUEST, 870_000, 120.0), (STANDARD, 30_000, 30.0), (STANDARD, 870_000, 870.0)],
)
async def test_a_deadline_counts_no_more_of_a_slow_flex_call_than_a_usual_one_may_take(
    request_: ChatRequest, latency_ms: int, seconds: float
) -> None:
    place = await entered(capacity(), request_)
    assert place.seconds(replace(ANSWER, latency_ms=latency_ms)) == seconds


async def test_nobody_goes_past_those_who_wait() -> None:
    of = capacity(most=1)
    inside = await entered(of)
    first = await stands_aside(of)
    inside.leave()
    assert of.place_at_once(REQUEST, Waited()) is None
    (await asyncio.wait_for(first, BOUND)).leave()
    assert of.place_at_once(REQUEST, Waited()) is not None  # nobody waits any more
