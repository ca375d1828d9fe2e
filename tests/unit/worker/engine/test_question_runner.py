"""How many calls one question may make, and how long one item may take, whatever the endpoint answers."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import repeat
from math import inf, log
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import ErrorKind, EvaluationResult, Filter, Pause, PauseKind, Prices, Usage
from tamis_worker.engine.backpressure import Backpressure, RequiredServer
from tamis_worker.engine.batch_interrupts import BatchInterrupts, Halted
from tamis_worker.engine.call_accounting import MOST_DEVIATIONS, CallAccounting
from tamis_worker.engine.endpoint_health import EndpointHealth
from tamis_worker.engine.question_runner import LONGEST_PAUSE, QuestionRunner
from tamis_worker.engine.retry import REFUSALS, RetryPolicy
from tamis_worker.ledger.answers import KeptAnswer
from tamis_worker.ledger.batches import BatchTerms
from tamis_worker.llm.chat import CallError, ChatAnswer, ChatRequest, Message, Obstacle, Reply
from tamis_worker.llm.llm import LearnResult
from tamis_worker.llm.shared_dialects import DialectTurn, SharedDialects
from tamis_worker.operations import Decided, Failure, InvalidAnswer
from tamis_worker.operations.filter import DECISION

POLICY = RetryPolicy(max_calls=5, deadline=900.0, base=1.0, cap=60.0)
TERMS = BatchTerms(uuid4(), Filter(criteria="Is it?"), model=None)
REQUEST = ChatRequest("m", (Message("user", "Is it?"),), "filter", {}, 0.0, 100)
USEFUL = '{"value": true}'
PAID = Usage(prompt_tokens=10, completion_tokens=5)
DOWN = CallError(ErrorKind.SERVER, "500", status=500)


def answer(content: str = USEFUL, latency_ms: int = 0) -> ChatAnswer:
    return ChatAnswer(content, "m", PAID, "stop", latency_ms)


def bad_key(message: str = "401") -> CallError:
    return CallError(ErrorKind.AUTHENTICATION, message, status=401, everyone=True)


def parse(data: object) -> bool:
    if not isinstance(data, dict) or not isinstance(data.get("value"), bool):
        raise InvalidAnswer("value: missing")
    return bool(data["value"])


class Endpoint:
    """Stands for the LLM and what stands around it: replies in order, one permit each, nothing cached."""

    def __init__(self, replies: Iterable[Reply]) -> None:
        self._replies: Iterator[Reply] = iter(replies)
        self.calls: list[ChatRequest] = []
        self.probes = 0
        self.probed: list[Reply] = []  # to probes, in order; further probes are answered
        self.learned: list[LearnResult] = []  # from the replies, in order; nothing from those beyond
        self.permits = 0
        self.slept = 0.0
        self.blocked = 0.0
        self.kept: KeptAnswer | None = None
        self.stored: tuple[object, ...] = ()

    def dialect_turn(self, request: ChatRequest) -> DialectTurn:
        return SharedDialects().turn(request.model)

    async def learn(self, request: ChatRequest, reply: Reply, *, usable: bool) -> LearnResult:
        return self.learned.pop(0) if self.learned else LearnResult()

    async def ask(self, request: ChatRequest) -> Reply:
        if request.schema_name == "probe":
            self.probes += 1
            return self.probed.pop(0) if self.probed else answer("{}")
        self.calls.append(request)
        return next(self._replies)

    async def of(self, model: str) -> "Endpoint":
        return self

    async def acquire(self, *_: object, **__: object) -> object:
        self.permits += 1
        return object()

    async def release(self, *_: object, **__: object) -> None:
        self.permits -= 1

    async def block(self, seconds: float) -> None:
        self.blocked += seconds

    def observe(self, *_: object) -> None:
        """What the answer's headers say of the limit."""

    def congested(self) -> None:
        """The endpoint is asked too much."""

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds

    async def find(self, key: str) -> KeptAnswer | None:
        return self.kept

    async def keep(self, *kept: object) -> None:
        self.stored = kept

    def give_back(self, reservation: object) -> None:
        """No budget: nothing is reserved."""


class Asking:
    """An asker before an endpoint, and the pauses that it asked for."""

    def __init__(self, replies: Iterable[Reply], policy: RetryPolicy = POLICY) -> None:
        self.endpoint: Any = Endpoint(replies)  # plays all the parts that an asker speaks to
        self.pauses: list[Pause] = []
        self.interrupts = BatchInterrupts(self._pause)
        e = self.endpoint
        self.asker = QuestionRunner(
            e,
            e,
            policy,
            self.interrupts,
            e,
            e,
            Prices({}),
            sleep=e.sleep,
            new_health=lambda: EndpointHealth(spacing=0.0, grace=0.0),
        )

    async def _pause(self, batch_id: UUID, pause: Pause) -> bool:
        self.pauses.append(pause)
        return True

    async def ask(self, accounting: CallAccounting | None = None) -> bool | Failure:
        return await self.asker.ask(REQUEST, parse, accounting or CallAccounting(), TERMS, key=None)


@pytest.mark.parametrize(
    ("replies", "retried"),
    [
        ([answer()], []),
        ([CallError(ErrorKind.TIMEOUT, "slow"), answer()], ["timeout"]),
        ([CallError(ErrorKind.RATE_LIMITED, "429", status=429, retry_after=3.0), answer()], ["rate_limited"]),
        (
            [CallError(ErrorKind.SERVER, "503", status=503, retry_after=3.0), answer("no"), answer()],
            ["server", "malformed"],
        ),
        ([answer("no"), answer("no")], ["malformed"]),  # the second one is the end of the question
        ([CallError(ErrorKind.CONTEXT_LENGTH, "long")], []),
        ([bad_key()] * REFUSALS, ["authentication"] * (REFUSALS - 1)),  # the last one halts the batch
    ],
)
async def test_each_call_that_failed_and_is_followed_by_another_is_told_by_its_kind(
    replies: list[Reply], retried: list[str]
) -> None:
    told: list[ErrorKind] = []
    with suppress(Halted):
        await Asking(replies).ask(CallAccounting(retried=told.append))
    assert told == retried


async def test_a_useful_answer_is_one_call_and_gives_its_permit_back() -> None:
    asking = Asking([answer()])
    assert await asking.ask() is True
    assert len(asking.endpoint.calls) == 1
    assert asking.endpoint.permits == 0


SHAPED = replace(
    REQUEST, schema={"type": "object", "properties": {"value": {"type": "boolean"}}, "additionalProperties": False}
)


async def test_what_was_harmlessly_otherwise_is_noted_of_the_answer_that_is_used_and_of_no_other() -> None:
    asking = Asking([answer('{"value": "maybe", "note": "x"}'), answer('[{"Value": "True"}]')])
    accounting = CallAccounting()
    assert await asking.asker.ask(SHAPED, parse, accounting, TERMS, key=None) is True
    assert accounting.deviations == (
        "taken out of an array of one",
        "'Value' read as 'value'",
        "value: 'True' read as a boolean",
    )


async def test_an_answer_from_the_cache_is_read_as_it_was_the_first_time() -> None:
    asking = Asking([])
    asking.endpoint.kept = KeptAnswer('{"value": "true", "more": 1}', "m", 1, 1)
    accounting = CallAccounting()
    assert await asking.asker.ask(SHAPED, parse, accounting, TERMS, key="k") is True
    assert (accounting.cached, accounting.calls) == (1, 0)
    assert accounting.deviations == ("extra key 'more' ignored", "value: 'true' read as a boolean")


async def test_a_kept_answer_that_cannot_be_read_any_more_is_asked_for_anew_and_replaced() -> None:
    asking, accounting = Asking([answer()]), CallAccounting()
    asking.endpoint.kept = KeptAnswer('{"value": "perhaps"}', "m", 10, 5)
    assert await asking.asker.ask(REQUEST, parse, accounting, TERMS, key="k") is True
    assert (accounting.cached, len(asking.endpoint.calls)) == (0, 1)
    assert asking.endpoint.stored[:2] == ("k", answer())


async def test_words_around_an_answer_are_told_to_the_model_which_is_asked_once_more() -> None:
    asking = Asking([answer(f"Here it is: {USEFUL}"), answer()])
    assert await asking.ask() is True
    assert "text stands before the JSON object" in asking.endpoint.calls[1].messages[-1].content


def test_the_deviations_of_an_item_are_kept_once_each_and_so_many_at_most() -> None:
    accounting = CallAccounting()
    for n in range(2 * MOST_DEVIATIONS):
        accounting.answered(("the same", f"another {n}"))
    assert accounting.deviations[:3] == ("the same", "another 0", "another 1")
    assert len(accounting.deviations) == MOST_DEVIATIONS


async def test_a_rate_limit_costs_no_call_and_no_time_however_often_it_comes() -> None:
    limited = CallError(ErrorKind.RATE_LIMITED, "429", status=429, retry_after=300.0)
    asking = Asking([*[limited] * 50, DOWN, answer()])  # the 51st call is the first that counts
    assert await asking.ask() is True
    assert len(asking.endpoint.calls) == 52
    assert asking.endpoint.blocked == 50 * 300.0


async def test_a_wrong_key_pauses_the_batch_after_three_calls_and_gives_the_item_back() -> None:
    asking = Asking([bad_key()] * 9)
    with pytest.raises(Halted):
        await asking.ask()
    assert len(asking.endpoint.calls) == REFUSALS
    assert asking.pauses == [Pause(kind=PauseKind.AUTHENTICATION, message="401")]
    assert asking.endpoint.permits == 0


async def test_of_500_items_at_once_three_burn_a_call_for_a_wrong_key() -> None:
    asking = Asking([bad_key()] * 500)
    ended = await asyncio.gather(*(asking.ask() for _ in range(500)), return_exceptions=True)
    assert all(isinstance(one, Halted) for one in ended)
    assert len(asking.endpoint.calls) == REFUSALS
    assert len(asking.pauses) == 1


class Outage(Endpoint):
    """Fails until the sixth probe."""

    async def ask(self, request: ChatRequest) -> Reply:
        await super().ask(request)
        await asyncio.sleep(0)
        return DOWN if self.probes < 6 else answer()


async def test_an_outage_fails_no_item_and_no_call_is_made_until_it_is_over() -> None:
    asking = Asking([])
    asking.endpoint.__class__ = Outage
    asking.endpoint._replies = repeat(DOWN)
    told: list[ErrorKind] = []
    ended = await asyncio.gather(*(asking.ask(CallAccounting(retried=told.append)) for _ in range(500)))
    assert ended == [True] * 500
    assert len(asking.endpoint.calls) == 500 + len(told) <= 503  # at most three failed before the first probe
    assert (asking.endpoint.probes, set(told)) == (6, {ErrorKind.SERVER})
    assert asking.endpoint.permits == 0


async def test_an_endpoint_that_waiting_does_not_mend_pauses_the_batch_and_gives_the_items_back() -> None:
    page = CallError(ErrorKind.SERVER, "a page of HTML", status=200, obstacle=Obstacle.PAGE)
    asking = Asking([page] * 500)
    asking.endpoint.probed = [page] * 500
    ended = await asyncio.gather(*(asking.ask() for _ in range(500)), return_exceptions=True)
    assert all(isinstance(end, Halted) for end in ended)
    assert asking.pauses == [Pause(kind=PauseKind.ENDPOINT, message="a page of HTML")]
    assert len(asking.endpoint.calls) <= 3
    assert asking.endpoint.permits == 0


@pytest.mark.parametrize(("asked", "seconds"), [(34_718.0, 34_718.0), (1e9, LONGEST_PAUSE), (inf, LONGEST_PAUSE)])
async def test_a_wait_of_hours_pauses_the_batch_until_then_and_for_a_day_at_most(asked: float, seconds: float) -> None:
    asking = Asking([CallError(ErrorKind.RATE_LIMITED, "slow down", status=429, retry_after=asked)])
    before = datetime.now(UTC)
    with pytest.raises(Halted):
        await asking.ask()
    (pause,) = asking.pauses
    assert (pause.kind, pause.message, pause.needs_people) == (PauseKind.RATE_LIMITED, "slow down", False)
    assert pause.until is not None
    assert timedelta() <= pause.until - before - timedelta(seconds=seconds) < timedelta(minutes=1)
    assert asking.endpoint.permits == 0


async def test_a_probe_that_is_answered_is_in_the_bill_of_the_item_that_waits() -> None:
    asking, accounting = Asking([DOWN, answer()]), CallAccounting()
    asking.endpoint.probed = [DOWN, answer("{}")]
    assert await asking.ask(accounting) is True
    assert (accounting.calls, accounting.usage) == (3, PAID + PAID)


async def test_a_stumbling_key_server_fails_nothing() -> None:
    asking = Asking([bad_key(), bad_key(), answer()])
    assert await asking.ask() is True
    assert asking.pauses == []


async def test_a_question_that_is_asked_in_another_way_is_the_original_one_and_keeps_its_repair() -> None:
    asking = Asking([answer("talk"), answer("talk"), answer("talk"), answer()])
    asking.endpoint.learned = [LearnResult(ask_again=True), LearnResult(ask_again=True)]
    assert await asking.ask() is True
    first, second, third, repair = asking.endpoint.calls
    assert first == second == third == REQUEST
    assert [message.role for message in repair.messages] == ["user", "assistant", "user"]


async def test_a_question_asked_anew_after_its_repair_tells_nothing_of_either_answer() -> None:
    asking = Asking([answer("talk"), answer("talk"), answer()])
    asking.endpoint.learned = [LearnResult(), LearnResult(ask_again=True)]
    assert await asking.ask() is True
    assert asking.endpoint.calls[2] == REQUEST


async def test_asking_anew_ends_with_the_call_budget() -> None:
    asking = Asking([answer("talk")] * 9)
    asking.endpoint.learned = [LearnResult(ask_again=True)] * 9
    failure = await asking.ask()
    assert isinstance(failure, Failure)
    assert failure.kind is ErrorKind.MALFORMED
    assert len(asking.endpoint.calls) == POLICY.max_calls


async def test_a_hopeless_model_pauses_the_batch_with_what_it_said_and_gives_the_item_back() -> None:
    asking = Asking([answer("talk")] * 9)
    asking.endpoint.learned = [LearnResult(hopeless="20 answers; the last one: 'talk'")]
    with pytest.raises(Halted):
        await asking.ask()
    assert len(asking.endpoint.calls) == 1
    assert asking.pauses == [Pause(kind=PauseKind.UNUSABLE_ANSWERS, message="20 answers; the last one: 'talk'")]


async def test_a_batch_paused_before_is_paused_again_after_one_call() -> None:
    asking = Asking([bad_key()] * 9)
    for calls in (3, 4):
        with asking.interrupts.held(TERMS.batch_id, asking.interrupts.generation, index=0), pytest.raises(Halted):
            await asking.ask()
        assert len(asking.endpoint.calls) == calls
    assert len(asking.pauses) == 2


async def test_an_item_whose_deadline_is_over_asks_no_further_question() -> None:
    asking = Asking([answer()])
    failure = await asking.ask(CallAccounting(worked=900.0))
    assert isinstance(failure, Failure)
    assert failure.kind is ErrorKind.TIMEOUT
    assert asking.endpoint.calls == []


@pytest.mark.parametrize(("worked", "calls"), [(0.0, 2), (899.0, 1)])
async def test_earlier_questions_count_towards_the_items_deadline(worked: float, calls: int) -> None:
    slow = CallError(ErrorKind.TIMEOUT, "slow", latency_ms=2000)  # 899 + 2 > 900: no second call
    asking = Asking([slow, answer()])
    await asking.ask(CallAccounting(worked=worked))
    assert len(asking.endpoint.calls) == calls


ERRORS = st.one_of(
    st.builds(
        CallError,
        st.sampled_from([kind for kind in ErrorKind if kind is not ErrorKind.AUTHENTICATION]),
        st.just("x"),
        retry_after=st.none() | st.floats(0.0, 100.0),
        latency_ms=st.integers(0, 120_000),
    ),
    st.builds(bad_key),
    st.builds(answer, st.sampled_from(["no JSON", "{}", USEFUL]), st.integers(0, 120_000)),
)
POLICIES = st.builds(RetryPolicy, max_calls=st.integers(1, 8), deadline=st.floats(1.0, 600.0), base=st.floats(0.0, 5.0))
LONGEST_CALL = 120.0  # s


@given(st.lists(ERRORS, min_size=1, max_size=40), POLICIES)
def test_no_sequence_of_errors_makes_a_question_cost_more_than_its_bounds(
    replies: Sequence[Reply], policy: RetryPolicy
) -> None:
    """At most `max_calls` that may be paid for and three refused ones; no call begins once the deadline is over."""
    asking = Asking([*replies, *[answer()] * 40], policy)
    accounting = CallAccounting()
    try:
        ended = asyncio.run(asking.ask(accounting))
    except Halted:
        assert len(asking.pauses) == 1
    else:
        assert isinstance(ended, bool | Failure)
        assert asking.pauses == []
    made = [*replies, *[answer()] * 40][: len(asking.endpoint.calls)]
    unpaid = [one for one in made if isinstance(one, CallError) and one.kind is ErrorKind.RATE_LIMITED]
    refused = [one for one in made if isinstance(one, CallError) and one.everyone]
    assert len(refused) <= REFUSALS
    assert len(made) - len(unpaid) - len(refused) <= policy.max_calls
    assert accounting.calls == len(made) + asking.endpoint.probes
    assert accounting.longest < policy.deadline + LONGEST_CALL
    assert asking.endpoint.slept <= policy.deadline
    assert asking.endpoint.permits == 0


class Ledger:
    """Takes results or does not, as told."""

    def __init__(self) -> None:
        self.backpressure = Backpressure()

    def goes(self) -> None:
        self.backpressure.failed(RequiredServer.LEDGER, "results", "away")

    def comes(self) -> None:
        self.backpressure.worked(RequiredServer.LEDGER, "results")


class InLine(Endpoint):
    """The ledger goes while the call stands in the line for its first permit."""

    def __init__(self, replies: Iterable[Reply], ledger: Ledger) -> None:
        super().__init__(replies)
        self._ledger = ledger
        self.voided = 0

    async def acquire(self, *_: object, **__: object) -> object:
        if self.voided == 0:
            self._ledger.goes()
        return await super().acquire()

    def void(self, permit: object) -> None:
        self.voided += 1
        self.permits -= 1


def asker_with(ledger: Ledger, endpoint: Any) -> tuple[QuestionRunner, BatchInterrupts]:
    async def pause(batch_id: UUID, pause: Pause) -> bool:
        return True

    interrupts = BatchInterrupts(pause)
    e = endpoint
    asker = QuestionRunner(
        *(e, e, POLICY, interrupts, e, e, Prices({})),
        backpressure=ledger.backpressure,
        sleep=e.sleep,
        new_health=lambda: EndpointHealth(spacing=0.0, grace=0.0),
    )
    return asker, interrupts


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_no_call_is_begun_while_its_answer_could_not_be_written() -> None:
    ledger, endpoint = Ledger(), Endpoint([answer()])
    asker, _ = asker_with(ledger, endpoint)
    ledger.goes()
    asked = asyncio.create_task(asker.ask(REQUEST, parse, CallAccounting(), TERMS, key=None))
    await turns()
    assert (len(endpoint.calls), endpoint.permits) == (0, 0)
    ledger.comes()
    assert await asyncio.wait_for(asked, 10) is True


async def test_a_retry_waits_for_the_ledger_too_and_the_wait_is_no_part_of_the_deadline() -> None:
    ledger = Ledger()

    class Failing(Endpoint):
        async def ask(self, request: ChatRequest) -> Reply:
            if not self.calls:
                ledger.goes()
            return await super().ask(request)

    endpoint = Failing([CallError(ErrorKind.SERVER, "500", status=500), answer()])
    asker, _ = asker_with(ledger, endpoint)
    accounting = CallAccounting()
    asked = asyncio.create_task(asker.ask(REQUEST, parse, accounting, TERMS, key=None))
    await turns()
    assert len(endpoint.calls) == 1
    ledger.comes()
    assert await asyncio.wait_for(asked, 10) is True
    assert len(endpoint.calls) == 2
    accounting.end_round()
    assert accounting.worked <= endpoint.slept  # the pause between the calls, and nothing else


async def test_a_permit_that_comes_after_the_ledger_went_is_given_back_unused() -> None:
    ledger = Ledger()
    endpoint = InLine([answer()], ledger)
    asker, _ = asker_with(ledger, endpoint)
    asked = asyncio.create_task(asker.ask(REQUEST, parse, CallAccounting(), TERMS, key=None))
    await turns()
    assert (len(endpoint.calls), endpoint.permits, endpoint.voided) == (0, 0, 1)
    ledger.comes()
    assert await asyncio.wait_for(asked, 10) is True
    assert endpoint.permits == 0


async def test_a_worker_that_stops_does_not_wait_for_the_ledger_to_begin_a_call() -> None:
    ledger, endpoint = Ledger(), Endpoint([])
    asker, interrupts = asker_with(ledger, endpoint)
    ledger.goes()
    asked = asyncio.create_task(asker.ask(REQUEST, parse, CallAccounting(), TERMS, key=None))
    await turns()
    interrupts.stop()
    with pytest.raises(Halted):
        await asyncio.wait_for(asked, 10)


async def test_tokens_that_nobody_can_believe_are_billed_and_hold_up_no_other_call() -> None:
    absurd = Usage(prompt_tokens=10**11, completion_tokens=10**11)
    asking = Asking([ChatAnswer(USEFUL, "m", usage, "stop", 0) for usage in (PAID, absurd, PAID)])
    used: list[int | None] = []

    async def release(permit: object, tokens: int | None) -> None:
        used.append(tokens)

    asking.endpoint.release = release
    accounting = CallAccounting()
    for _ in range(3):
        assert await asking.ask(accounting) is True
    # "Is it?" has 6 characters and took 15 tokens. In the place of 2 x 10^11 stands the estimate from the call before.
    assert used == [15, 15, 15]
    assert accounting.usage == PAID + absurd + PAID


def with_tokens(content: str, probability: float) -> ChatAnswer:
    """An answer of two tokens and a brace, `false` with this probability and `true` with the rest."""
    listed = [{"token": "false", "logprob": log(probability)}, {"token": "true", "logprob": log(1 - probability)}]
    decided = {"token": "false", "logprob": log(probability), "top_logprobs": listed}
    tokens = [{"token": '{"value": ', "logprob": 0.0}, decided, {"token": "}", "logprob": 0.0}]
    return replace(answer(content), tokens=tokens)


def decided(data: object) -> Decided:
    return Decided(EvaluationResult(value=parse(data)))


async def test_the_probability_is_that_of_the_answer_that_is_used() -> None:
    request = replace(REQUEST, decision=DECISION)
    first, used = with_tokens('{"value": false', 0.6), with_tokens('{"value": false}', 0.9)
    asking = Asking([first, used])  # the first one is cut off, and repaired
    value = await asking.asker.ask(request, decided, CallAccounting(), TERMS, key="k")
    assert isinstance(value, Decided)
    assert value.probability == pytest.approx(0.1)
    assert asking.endpoint.stored == ("k", used, value.probability)


async def test_a_kept_answer_keeps_its_own_probability() -> None:
    asking = Asking([])
    asking.endpoint.kept = KeptAnswer(USEFUL, "m", 1, 1, 0.7)
    value = await asking.asker.ask(replace(REQUEST, decision=DECISION), decided, CallAccounting(), TERMS, key="k")
    assert value == Decided(EvaluationResult(value=True), probability=0.7)


async def test_an_answer_that_decides_nothing_has_no_probability() -> None:
    asking = Asking([with_tokens('{"value": false}', 0.9)])
    value = await asking.asker.ask(REQUEST, decided, CallAccounting(), TERMS, key="k")
    assert value == Decided(EvaluationResult(value=False))
