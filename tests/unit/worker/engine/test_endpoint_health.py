"""How many calls are made before it is known whether the endpoint takes the key."""

import asyncio
from contextlib import suppress

import pytest

from tamis_schemas import ErrorKind, Pause, PauseKind, Usage
from tamis_worker.engine import endpoint_health
from tamis_worker.engine.endpoint_health import FAULTS, RELAPSES, EndpointBroken, EndpointHealth
from tamis_worker.llm.chat import CallError, ChatAnswer, Obstacle, Reply

BOUND = 10.0  # s
ANSWER = ChatAnswer("{}", "m", Usage(), "stop", 1)
BAD_KEY = CallError(ErrorKind.AUTHENTICATION, "401", status=401, everyone=True)
FORBIDDEN = CallError(ErrorKind.PERMISSION, "403", status=403)
DOWN = CallError(ErrorKind.SERVER, "500", status=500)
HALF = CallError(ErrorKind.SERVER, "half an answer", status=200)
TOO_LONG = CallError(ErrorKind.CONTEXT_LENGTH, "400", status=400)
REFUSED = CallError(ErrorKind.REFUSED, "no", status=200)
BUSY = CallError(ErrorKind.RATE_LIMITED, "429", status=429)


@pytest.fixture
def health() -> EndpointHealth:
    return EndpointHealth(patience=60.0, spacing=0.0, grace=0.0)


async def no_probe() -> Reply:
    raise AssertionError("no probe is needed")


async def call(health: EndpointHealth, reply: Reply) -> int:
    """One call with this reply; how many in a row were refused like it."""
    with await health.admit(no_probe) as admission:
        admission.begin()
        return admission.record(reply)


async def settled() -> None:
    """Let every task that can go on go on."""
    for _ in range(20):
        await asyncio.sleep(0)


class Endpoint:
    """Calls that stay in flight until they are answered."""

    def __init__(self, health: EndpointHealth) -> None:
        self._health = health
        self.in_flight: list[asyncio.Future[Reply]] = []
        self.calls = 0

    async def ask(self) -> int:
        with await self._health.admit(no_probe) as admission:
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
def endpoint(health: EndpointHealth) -> Endpoint:
    return Endpoint(health)


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
async def test_an_answer_begins_the_count_anew(health: EndpointHealth, between: Reply, then: int) -> None:
    assert [await call(health, reply) for reply in (BAD_KEY, BAD_KEY, between, BAD_KEY)] == [1, 2, 0, then]


async def test_whoever_waits_is_let_in_as_soon_as_the_answer_is_heard(health: EndpointHealth) -> None:
    with await health.admit(no_probe) as admission:
        admission.begin()
        second = asyncio.create_task(health.admit(no_probe))
        await settled()
        assert not second.done()
        admission.record(ANSWER)
        await settled()
        assert second.done()  # although the first still has something to do with its answer


async def test_an_answer_to_a_call_that_began_before_a_refusal_does_not_close_the_health(
    health: EndpointHealth, endpoint: Endpoint
) -> None:
    await call(health, ANSWER)
    flying = [asyncio.create_task(endpoint.ask()) for _ in range(3)]
    await settled()
    await endpoint.answer(BAD_KEY)
    await endpoint.answer(ANSWER)  # asked while the key was still good
    assert health.admit_at_once() is None
    await endpoint.answer(BAD_KEY)
    assert [task.result() for task in flying] == [1, 0, 2]


@pytest.mark.parametrize("reply", [TOO_LONG, BUSY, REFUSED], ids=lambda reply: reply.kind.value)
async def test_an_error_of_the_request_shows_that_the_key_is_taken(health: EndpointHealth, reply: Reply) -> None:
    await call(health, reply)
    assert health.admit_at_once() is not None


@pytest.mark.parametrize("reply", [DOWN, FORBIDDEN, BAD_KEY], ids=lambda reply: reply.kind.value)
async def test_an_error_of_the_endpoint_shows_nothing_of_the_key(health: EndpointHealth, reply: Reply) -> None:
    await call(health, reply)
    assert health.admit_at_once() is None


async def test_a_403_that_may_be_one_items_fault_opens_nothing_and_is_counted(health: EndpointHealth) -> None:
    await call(health, ANSWER)
    assert [await call(health, FORBIDDEN) for _ in range(3)] == [1, 2, 3]
    assert health.admit_at_once() is not None
    await call(health, ANSWER)
    assert await call(health, FORBIDDEN) == 1


async def test_an_old_answer_says_nothing_of_the_key_as_it_is_now() -> None:
    endpoint = Endpoint(EndpointHealth(patience=60.0, spacing=0.0, fresh=0.0))
    tasks = [asyncio.create_task(endpoint.ask()) for _ in range(3)]
    for made in (1, 2, 3):
        await settled()
        assert endpoint.calls == made
        await endpoint.answer(ANSWER)
    assert [task.result() for task in tasks] == [0, 0, 0]


async def test_a_refusal_after_a_long_pause_is_the_next_in_the_row(health: EndpointHealth) -> None:
    assert [await call(health, BAD_KEY) for _ in range(4)] == [1, 2, 3, 4]  # one call, and the batch is paused again


async def test_whoever_waits_too_long_behind_one_call_goes_beside_it() -> None:
    endpoint = Endpoint(EndpointHealth(patience=0.0, spacing=0.0))
    tasks = [asyncio.create_task(endpoint.ask()) for _ in range(3)]
    await settled()
    assert endpoint.calls == 3
    for _ in range(3):
        await endpoint.answer(ANSWER)
    assert [task.result() for task in tasks] == [0, 0, 0]


async def test_an_admission_whose_call_is_not_made_goes_to_the_next(health: EndpointHealth) -> None:
    first = await health.admit(no_probe)
    second = asyncio.create_task(health.admit(no_probe))
    await settled()
    assert not second.done()
    with first:
        pass
    await settled()
    assert second.done()


async def test_an_admission_that_is_cancelled_while_it_waits_for_its_time_goes_to_the_next() -> None:
    health = EndpointHealth(patience=60.0, spacing=30.0)
    await call(health, BAD_KEY)
    first = asyncio.create_task(health.admit(no_probe))
    second = asyncio.create_task(health.admit(no_probe))
    await settled()
    first.cancel()
    await settled()
    assert first.cancelled()
    assert not second.done()
    second.cancel()
    await settled()
    health._next_trial = 0.0
    assert await asyncio.wait_for(health.admit(no_probe), 5)


async def test_its_state_is_told_in_the_words_of_a_circuit_health(health: EndpointHealth) -> None:
    assert health.state == "open"
    with await health.admit(no_probe):
        assert health.state == "half open"
    await call(health, ANSWER)
    assert health.state == "closed"
    await call(health, BAD_KEY)
    assert health.state == "open"


REFUSED_CONNECTION = CallError(ErrorKind.CONNECTION, "refused", obstacle=Obstacle.REFUSED, sent=False)
BAD_CERTIFICATE = CallError(ErrorKind.CONNECTION, "certificate", obstacle=Obstacle.TLS, sent=False)
NO_NAME = CallError(ErrorKind.CONNECTION, "unknown name", obstacle=Obstacle.NAME, sent=False)
SIGN_IN = CallError(ErrorKind.SERVER, "a page of HTML", status=200, obstacle=Obstacle.PAGE)
CUT = CallError(ErrorKind.CONNECTION, "cut off", obstacle=Obstacle.CUT)
FAULTS_OF_AN_ENDPOINT = [DOWN, HALF, REFUSED_CONNECTION, CallError(ErrorKind.TIMEOUT, "slow")]


class Probes:
    """Probes that get these replies, in order."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.made = 0
        self.at_once = 0
        self.most_at_once = 0

    async def __call__(self) -> Reply:
        self.made += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        return self.replies.pop(0)


def now() -> float:
    return asyncio.get_running_loop().time()


@pytest.mark.parametrize("reply", FAULTS_OF_AN_ENDPOINT, ids=lambda reply: reply.message)
async def test_three_failed_calls_in_a_row_are_a_fault_of_the_endpoint_and_an_answer_ends_it(
    health: EndpointHealth, reply: Reply
) -> None:
    await call(health, ANSWER)
    for _ in range(FAULTS - 1):
        await call(health, reply)
        assert health.fault is None
    await call(health, reply)
    assert health.fault is not None
    assert health.admit_at_once() is None
    assert health.state == "open"
    probes = Probes(ANSWER)
    with await health.admit(probes):
        assert (health.fault, probes.made) == (None, 1)


async def test_one_probe_at_a_time_is_asked_for_all_that_wait(health: EndpointHealth) -> None:
    for _ in range(FAULTS):
        await call(health, DOWN)
    probes = Probes(DOWN, REFUSED_CONNECTION, ANSWER)
    await asyncio.gather(health.admit(probes), *(health.is_own_fault(0.0, probes) for _ in range(99)))
    assert (probes.made, probes.most_at_once) == (3, 1)


async def test_a_failure_is_the_endpoints_if_a_probe_fails_too_and_the_calls_own_if_it_is_answered(
    health: EndpointHealth,
) -> None:
    await call(health, DOWN)
    assert not await health.is_own_fault(now(), Probes(DOWN, ANSWER))
    await call(health, DOWN)
    assert await health.is_own_fault(now(), no_probe)  # the answered probe is fresh


async def test_a_failure_is_the_calls_own_if_a_later_call_is_answered_and_then_no_probe_is_asked() -> None:
    health = EndpointHealth(spacing=0.0, grace=60.0)
    await call(health, ANSWER)
    await call(health, DOWN)
    own = asyncio.create_task(health.is_own_fault(now(), no_probe))
    await settled()
    assert not own.done()
    await call(health, ANSWER)
    assert await asyncio.wait_for(own, BOUND)


async def test_an_answer_to_a_call_that_began_before_the_failure_shows_nothing(health: EndpointHealth) -> None:
    await call(health, ANSWER)
    earlier = health.admit_at_once()
    assert earlier is not None
    earlier.begin()
    await asyncio.sleep(0.002)  # the loop's clock has milliseconds
    for _ in range(FAULTS):
        await call(health, DOWN)
    earlier.record(ANSWER)
    assert health.fault is not None
    assert not await health.is_own_fault(now(), Probes(DOWN, ANSWER))


@pytest.mark.parametrize("reply", [TOO_LONG, REFUSED, BUSY, BAD_KEY, FORBIDDEN, CUT], ids=lambda reply: reply.message)
async def test_an_endpoint_that_answers_anything_does_not_fail(health: EndpointHealth, reply: Reply) -> None:
    for _ in range(2 * FAULTS):
        await call(health, DOWN)
        await call(health, reply)
        if reply is CUT:
            await call(health, ANSWER)
    assert health.fault is None


@pytest.mark.parametrize("reply", [BAD_CERTIFICATE, SIGN_IN], ids=lambda reply: reply.message)
async def test_what_waiting_does_not_mend_pauses_the_batch_at_once(health: EndpointHealth, reply: CallError) -> None:
    for _ in range(FAULTS):
        await call(health, reply)
    with pytest.raises(EndpointBroken) as broken:
        await health.admit(no_probe)
    assert broken.value.pause == Pause(kind=PauseKind.ENDPOINT, message=reply.message)
    with pytest.raises(EndpointBroken):
        await health.is_own_fault(now(), no_probe)


async def test_a_batch_that_is_resumed_later_is_paused_again_only_if_a_probe_fails(
    health: EndpointHealth, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(FAULTS):
        await call(health, BAD_CERTIFICATE)
    monkeypatch.setattr(endpoint_health, "RECENT", 0.0)
    probes = Probes(ANSWER)
    assert await health.admit(probes)
    assert probes.made == 1


async def test_an_endpoint_that_answers_only_probes_pauses_the_batch(health: EndpointHealth) -> None:
    slow = CallError(ErrorKind.TIMEOUT, "slow")
    for _ in range(RELAPSES - 1):
        for _ in range(FAULTS):
            await call(health, slow)
        with await health.admit(Probes(DOWN, ANSWER)):  # a failed probe begins no further fault
            assert health.fault is None
    for _ in range(FAULTS):
        await call(health, slow)
    with pytest.raises(EndpointBroken, match=r"answers small questions only: slow\. Raise TAMIS_CALL_TIMEOUT"):
        await health.admit(no_probe)
    with pytest.raises(EndpointBroken):
        await health.is_own_fault(now(), no_probe)


async def test_an_answered_call_of_an_item_ends_the_count_of_relapses(health: EndpointHealth) -> None:
    for _ in range(3 * RELAPSES):
        for _ in range(FAULTS):
            await call(health, DOWN)
        with await health.admit(Probes(ANSWER)):
            pass
        await call(health, ANSWER)


async def test_an_unknown_name_may_be_known_again_within_a_minute(
    health: EndpointHealth, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(FAULTS):
        await call(health, NO_NAME)
    assert health.fault is not None
    assert health.fault.heals(health.fault.since + 59.0)
    assert not health.fault.heals(health.fault.since + 60.0)
    probes = Probes(NO_NAME, ANSWER)
    assert await health.admit(probes)
    assert probes.made == 2


async def test_probes_come_at_growing_intervals_and_not_before_the_endpoint_wants_them() -> None:
    health = EndpointHealth(spacing=0.5, grace=0.0)
    seen: list[float] = []
    for faults, after in ((1, None), (2, None), (3, None), (4, None), (9, None), (9, 30.0)):
        health._faults = faults
        health._fail(CallError(ErrorKind.SERVER, "503", status=503, retry_after=after))
        seen.append(round(health._next_probe - now(), 1))
    assert seen == [0.5, 1.0, 2.0, 4.0, 4.0, 30.0]


async def test_a_wait_that_is_interrupted_lets_the_next_one_probe(health: EndpointHealth) -> None:
    for _ in range(FAULTS):
        await call(health, DOWN)
    never = asyncio.Event()

    async def hanging() -> Reply:
        await never.wait()
        return ANSWER

    first = asyncio.create_task(health.admit(hanging))
    second = asyncio.create_task(health.admit(Probes(ANSWER)))
    await settled()
    first.cancel()
    assert await asyncio.wait_for(second, BOUND)
    with suppress(asyncio.CancelledError):
        await first


async def test_an_answered_probe_is_enough_for_ten_seconds_unless_the_endpoint_fails(
    health: EndpointHealth, monkeypatch: pytest.MonkeyPatch
) -> None:
    await call(health, DOWN)
    assert await health.is_own_fault(now(), Probes(ANSWER))
    await call(health, DOWN)
    assert await health.is_own_fault(now(), no_probe)
    for _ in range(FAULTS - 1):  # one has failed already
        await call(health, DOWN)
    assert not await health.is_own_fault(now(), Probes(DOWN, ANSWER))
    monkeypatch.setattr(endpoint_health, "PROVEN", -1.0)
    await call(health, DOWN)
    probes = Probes(ANSWER)
    assert await health.is_own_fault(now(), probes)
    assert probes.made == 1
