"""How many calls are made before it is known whether the endpoint takes the key."""

import asyncio

import pytest

from tamis_schemas import ErrorKind, Usage
from tamis_worker.engine.key_circuit_breaker import KeyCircuitBreaker
from tamis_worker.llm.chat import CallError, ChatAnswer, Reply

ANSWER = ChatAnswer("{}", "m", Usage(), "stop", 1)
BAD_KEY = CallError(ErrorKind.AUTHENTICATION, "401", status=401, everyone=True)
FORBIDDEN = CallError(ErrorKind.PERMISSION, "403", status=403)
DOWN = CallError(ErrorKind.SERVER, "500", status=500)
HALF = CallError(ErrorKind.SERVER, "half an answer", status=200)
TOO_LONG = CallError(ErrorKind.CONTEXT_LENGTH, "400", status=400)
REFUSED = CallError(ErrorKind.REFUSED, "no", status=200)
BUSY = CallError(ErrorKind.RATE_LIMITED, "429", status=429)


@pytest.fixture
def breaker() -> KeyCircuitBreaker:
    return KeyCircuitBreaker(patience=60.0, spacing=0.0)


async def call(breaker: KeyCircuitBreaker, reply: Reply) -> int:
    """One call with this reply; how many in a row were refused like it."""
    with await breaker.admit() as admission:
        admission.begin()
        return admission.record(reply)


async def settled() -> None:
    """Let every task that can go on go on."""
    for _ in range(20):
        await asyncio.sleep(0)


class Endpoint:
    """Calls that stay in flight until they are answered."""

    def __init__(self, breaker: KeyCircuitBreaker) -> None:
        self._breaker = breaker
        self.in_flight: list[asyncio.Future[Reply]] = []
        self.calls = 0

    async def ask(self) -> int:
        with await self._breaker.admit() as admission:
            admission.begin()
            self.calls += 1
            reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            self.in_flight.append(reply)
            return admission.record(await reply)

    async def answer(self, reply: Reply) -> None:
        """Answer the oldest call in flight."""
        self.in_flight.pop(0).set_result(reply)
        await settled()


@pytest.fixture
def endpoint(breaker: KeyCircuitBreaker) -> Endpoint:
    return Endpoint(breaker)


async def test_one_call_finds_out_and_then_all_are_made(endpoint: Endpoint) -> None:
    tasks = [asyncio.create_task(endpoint.ask()) for _ in range(500)]
    await settled()
    assert endpoint.calls == 1
    await endpoint.answer(ANSWER)
    assert endpoint.calls == 500
    for _ in range(499):
        endpoint.in_flight.pop().set_result(ANSWER)
    assert await asyncio.gather(*tasks) == [0] * 500


async def test_refusals_let_one_after_the_other_in_and_are_counted(endpoint: Endpoint) -> None:
    tasks = [asyncio.create_task(endpoint.ask()) for _ in range(500)]
    for made in (1, 2, 3):
        await settled()
        assert endpoint.calls == made
        await endpoint.answer(BAD_KEY)
    assert [task.result() for task in tasks if task.done()] == [1, 2, 3]
    assert endpoint.calls == 4
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize(
    ("between", "then"),
    [
        (ANSWER, 1),
        (REFUSED, 1),  # 200: the key was taken, the answer is none
        (HALF, 3),  # 200, and then something broke: nobody knows
        (DOWN, 3),
        (TOO_LONG, 3),  # may be said before anybody looks at the key
    ],
)
async def test_an_answer_begins_the_count_anew(breaker: KeyCircuitBreaker, between: Reply, then: int) -> None:
    assert [await call(breaker, reply) for reply in (BAD_KEY, BAD_KEY, between, BAD_KEY)] == [1, 2, 0, then]


async def test_whoever_waits_is_let_in_as_soon_as_the_answer_is_heard(breaker: KeyCircuitBreaker) -> None:
    with await breaker.admit() as admission:
        admission.begin()
        second = asyncio.create_task(breaker.admit())
        await settled()
        assert not second.done()
        admission.record(ANSWER)
        await settled()
        assert second.done()  # although the first still has something to do with its answer


async def test_an_answer_to_a_call_that_began_before_a_refusal_does_not_close_the_breaker(
    breaker: KeyCircuitBreaker, endpoint: Endpoint
) -> None:
    await call(breaker, ANSWER)
    flying = [asyncio.create_task(endpoint.ask()) for _ in range(3)]
    await settled()
    await endpoint.answer(BAD_KEY)
    await endpoint.answer(ANSWER)  # asked while the key was still good
    assert breaker.admit_at_once() is None
    await endpoint.answer(BAD_KEY)
    assert [task.result() for task in flying] == [1, 0, 2]


@pytest.mark.parametrize("reply", [TOO_LONG, BUSY, REFUSED], ids=lambda reply: reply.kind.value)
async def test_an_error_of_the_request_shows_that_the_key_is_taken(breaker: KeyCircuitBreaker, reply: Reply) -> None:
    await call(breaker, reply)
    assert breaker.admit_at_once() is not None


@pytest.mark.parametrize("reply", [DOWN, FORBIDDEN, BAD_KEY], ids=lambda reply: reply.kind.value)
async def test_an_error_of_the_endpoint_shows_nothing_of_the_key(breaker: KeyCircuitBreaker, reply: Reply) -> None:
    await call(breaker, reply)
    assert breaker.admit_at_once() is None


async def test_a_403_that_may_be_one_items_fault_opens_nothing_and_is_counted(breaker: KeyCircuitBreaker) -> None:
    await call(breaker, ANSWER)
    assert [await call(breaker, FORBIDDEN) for _ in range(3)] == [1, 2, 3]
    assert breaker.admit_at_once() is not None
    await call(breaker, ANSWER)
    assert await call(breaker, FORBIDDEN) == 1


async def test_an_old_answer_says_nothing_of_the_key_as_it_is_now() -> None:
    endpoint = Endpoint(KeyCircuitBreaker(patience=60.0, spacing=0.0, fresh=0.0))
    tasks = [asyncio.create_task(endpoint.ask()) for _ in range(3)]
    for made in (1, 2, 3):
        await settled()
        assert endpoint.calls == made
        await endpoint.answer(ANSWER)
    assert [task.result() for task in tasks] == [0, 0, 0]


async def test_a_refusal_after_a_long_pause_is_the_next_in_the_row(breaker: KeyCircuitBreaker) -> None:
    assert [await call(breaker, BAD_KEY) for _ in range(4)] == [1, 2, 3, 4]  # one call, and the batch is paused again


async def test_whoever_waits_too_long_behind_one_call_goes_beside_it() -> None:
    endpoint = Endpoint(KeyCircuitBreaker(patience=0.0, spacing=0.0))
    tasks = [asyncio.create_task(endpoint.ask()) for _ in range(3)]
    await settled()
    assert endpoint.calls == 3
    for _ in range(3):
        await endpoint.answer(ANSWER)
    assert [task.result() for task in tasks] == [0, 0, 0]


async def test_an_admission_whose_call_is_not_made_goes_to_the_next(breaker: KeyCircuitBreaker) -> None:
    first = await breaker.admit()
    second = asyncio.create_task(breaker.admit())
    await settled()
    assert not second.done()
    with first:
        pass
    await settled()
    assert second.done()


async def test_an_admission_that_is_cancelled_while_it_waits_for_its_time_goes_to_the_next() -> None:
    breaker = KeyCircuitBreaker(patience=60.0, spacing=30.0)
    await call(breaker, BAD_KEY)
    first = asyncio.create_task(breaker.admit())
    second = asyncio.create_task(breaker.admit())
    await settled()
    first.cancel()
    await settled()
    assert first.cancelled()
    assert not second.done()
    second.cancel()
    await settled()
    breaker._next_trial = 0.0
    assert await asyncio.wait_for(breaker.admit(), 5)


async def test_its_state_is_told_in_the_words_of_a_circuit_breaker(breaker: KeyCircuitBreaker) -> None:
    assert breaker.state == "open"
    with await breaker.admit():
        assert breaker.state == "half open"
    await call(breaker, ANSWER)
    assert breaker.state == "closed"
    await call(breaker, BAD_KEY)
    assert breaker.state == "open"
