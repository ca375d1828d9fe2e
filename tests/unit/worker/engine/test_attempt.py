"""The steps of one question: what follows from each reply, and the laws that hold whatever is replied."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_schemas import ErrorKind, Pause, PauseKind, Usage
from tamis_worker.engine.attempt import (
    Ask,
    Attempt,
    CallOutcome,
    Done,
    EndpointPause,
    Fail,
    FindCause,
    Halt,
    Step,
    Wait,
    checked_reply,
    read_reply,
)
from tamis_worker.engine.retry import FORBIDDEN, LONGEST_WAIT, REFUSALS, RetryPolicy
from tamis_worker.llm.chat import CallError, ChatAnswer, ChatRequest, Message, Obstacle, Reply, Rung
from tamis_worker.operations import Failure, InvalidAnswer
from tamis_worker.operations.filter import DECISION

POLICY = RetryPolicy(max_calls=4, deadline=100.0, base=1.0, cap=60.0, rate_limit_wait=5.0)
SCHEMA = {"type": "object", "properties": {"value": {"type": "boolean"}}, "additionalProperties": False}
REQUEST = ChatRequest("m", (Message("user", "Is it?"),), "filter", SCHEMA, 0.0, 100)
ANEW = Ask(REQUEST)
LARGER = Ask(replace(REQUEST, max_tokens=200))  # 2 x 100
USEFUL, TALK = '{"value": true}', "I think so"


def parse(data: object) -> bool:
    if not isinstance(data, dict) or "value" not in data:
        raise InvalidAnswer("value: missing")
    return bool(data["value"])


def answer(content: str = USEFUL) -> ChatAnswer:
    return ChatAnswer(content, "m", Usage(prompt_tokens=10, completion_tokens=5), "stop", 0)


def error(kind: ErrorKind, *, after: float | None = None, everyone: bool = False) -> CallError:
    return CallError(kind, kind.value, retry_after=after, everyone=everyone)


def outcome(
    reply: Reply, *, seconds: float = 0.0, refusals: int = 0, anew: bool = False, hopeless: str | None = None
) -> CallOutcome[bool]:
    read = read_reply(reply, SCHEMA, parse)
    return CallOutcome(reply, read, seconds, jitter=0.5, refusals=refusals, anew=anew, hopeless=hopeless)


def steps(*replies: Reply | CallOutcome[bool], policy: RetryPolicy = POLICY, worked: float = 0.0) -> list[Step[bool]]:
    """What follows from each reply, up to the end."""
    attempt: Attempt[bool] = Attempt(REQUEST, policy, worked=worked)
    assert attempt.first() == Ask(REQUEST)
    found: list[Step[bool]] = []
    for reply in replies:
        assert not found or not isinstance(found[-1], Done | Fail | Halt)
        found.append(following(attempt, reply if isinstance(reply, CallOutcome) else outcome(reply)))
    return found


def following(attempt: Attempt[bool], ended: CallOutcome[bool]) -> Step[bool]:
    """The step after a call; the endpoint answers other calls."""
    step = attempt.next(ended)
    return attempt.next_by_cause(own_fault=True) if isinstance(step, FindCause) else step


def failed(kind: ErrorKind) -> Fail:
    return Fail(Failure(kind, kind.value))


RATE_LIMITED, SERVER, TIMEOUT = ErrorKind.RATE_LIMITED, ErrorKind.SERVER, ErrorKind.TIMEOUT
TRUNCATED, EMPTY, AUTHENTICATION = ErrorKind.TRUNCATED, ErrorKind.EMPTY, ErrorKind.AUTHENTICATION


@pytest.mark.parametrize(
    ("reply", "step"),
    [
        (error(TIMEOUT), Wait(0.5, ANEW)),  # 0.5 x min(60, 1 x 2^0)
        (error(ErrorKind.CONNECTION), Wait(0.5, ANEW)),
        (error(SERVER), Wait(0.5, ANEW)),
        (error(SERVER, after=7.0), EndpointPause(7.0, ANEW)),
        (error(RATE_LIMITED, after=7.0), EndpointPause(7.0, ANEW)),
        (error(RATE_LIMITED), EndpointPause(3.75, ANEW)),  # 5 x (0.5 + 0.5 x 0.5)
        (replace(error(RATE_LIMITED, after=7.0), no_capacity=True), ANEW),  # the tier says when
        (error(EMPTY), ANEW),  # there is nothing that could be repaired
        (error(TRUNCATED), LARGER),
        (outcome(error(AUTHENTICATION, everyone=True), refusals=1), ANEW),
        (outcome(error(ErrorKind.PERMISSION), refusals=1), failed(ErrorKind.PERMISSION)),
        (error(ErrorKind.INVALID_REQUEST), failed(ErrorKind.INVALID_REQUEST)),
        (error(ErrorKind.CONTEXT_LENGTH), failed(ErrorKind.CONTEXT_LENGTH)),
        (error(ErrorKind.REFUSED), failed(ErrorKind.REFUSED)),
        (error(ErrorKind.CONTENT_FILTER), failed(ErrorKind.CONTENT_FILTER)),
    ],
)
def test_each_error_is_followed_by_the_step_of_its_rule(reply: Reply | CallOutcome[bool], step: Step[bool]) -> None:
    assert steps(reply) == [step]


def test_a_usable_answer_is_the_end_with_its_value_and_where_it_came_from() -> None:
    used = answer('{"value": "false"}')
    assert steps(used) == [Done(False, used)]


@pytest.mark.parametrize(
    ("content", "kind", "told"), [(TALK, ErrorKind.MALFORMED, "no JSON"), ("{}", ErrorKind.INVALID, "value: missing")]
)
def test_an_unusable_answer_is_sent_back_once_with_what_is_wrong_with_it(
    content: str, kind: ErrorKind, told: str
) -> None:
    repair, end = steps(answer(content), answer(content))
    assert isinstance(repair, Ask)
    assert repair.request.messages[:2] == (*REQUEST.messages, Message("assistant", content))
    assert told in repair.request.messages[2].content
    assert isinstance(end, Fail)
    assert end.failure.kind is kind


def test_a_repair_that_meets_a_broken_server_is_asked_again_as_a_repair() -> None:
    repair, wait = steps(answer(TALK), error(SERVER))
    assert isinstance(repair, Ask)
    assert wait == Wait(1.0, repair)  # 0.5 x min(60, 1 x 2^1)


def test_the_larger_budget_is_given_once_and_kept_where_the_server_breaks_meanwhile() -> None:
    assert steps(error(TRUNCATED), error(SERVER), error(TRUNCATED)) == [LARGER, Wait(1.0, LARGER), failed(TRUNCATED)]


def test_an_answer_in_the_larger_budget_that_cannot_be_used_is_repaired_in_the_first_one() -> None:
    _, repair = steps(error(TRUNCATED), answer(TALK))
    assert isinstance(repair, Ask)
    assert (repair.request.max_tokens, len(repair.request.messages)) == (100, 3)


@pytest.mark.parametrize("bad", [answer(TALK), answer("{}"), error(EMPTY), error(TRUNCATED)])
def test_a_model_that_is_asked_in_another_way_gets_the_question_anew_and_keeps_its_second_chances(bad: Reply) -> None:
    first, second, repair, end = steps(
        outcome(bad, anew=True), outcome(bad, anew=True), outcome(answer(TALK)), outcome(answer(TALK))
    )
    assert first == second == ANEW
    assert isinstance(repair, Ask)
    assert len(repair.request.messages) == 3
    assert isinstance(end, Fail)


def test_a_question_asked_anew_keeps_its_larger_budget_and_tells_nothing_of_the_answer() -> None:
    assert steps(error(TRUNCATED), outcome(answer(TALK), anew=True)) == [LARGER, LARGER]


def test_a_hopeless_model_halts_the_batch_with_its_reason() -> None:
    told = "20 answers in a row could not be used"
    reason = Pause(kind=PauseKind.UNUSABLE_ANSWERS, message=told)
    assert steps(outcome(answer(TALK), hopeless=told)) == [Halt(reason)]
    assert steps(outcome(error(EMPTY), hopeless=told)) == [Halt(reason)]
    assert steps(outcome(error(RATE_LIMITED, after=1.0), hopeless=told)) == [
        EndpointPause(1.0, ANEW)
    ]  # says nothing of it


@pytest.mark.parametrize("kind", [AUTHENTICATION, ErrorKind.PERMISSION, ErrorKind.MODEL_NOT_FOUND])
def test_a_key_or_model_that_is_refused_in_a_row_halts_the_batch(kind: ErrorKind) -> None:
    refused = error(kind, everyone=True)
    found = steps(*(outcome(refused, refusals=n) for n in range(1, REFUSALS + 1)))
    assert found == [ANEW] * (REFUSALS - 1) + [Halt(Pause(kind=PauseKind(kind), message=kind.value))]


def test_an_endpoint_that_asks_for_a_longer_wait_than_five_minutes_pauses_the_batch_for_this_time() -> None:
    reason = Pause(kind=PauseKind.RATE_LIMITED, message="rate_limited")
    assert steps(outcome(error(RATE_LIMITED, after=34_718.0))) == [Halt(reason, 34_718.0)]


def test_an_item_that_is_refused_while_others_are_answered_fails_alone() -> None:
    refused = error(AUTHENTICATION, everyone=True)
    found = steps(*(outcome(refused, refusals=1) for _ in range(REFUSALS)))
    assert found == [ANEW] * (REFUSALS - 1) + [failed(AUTHENTICATION)]


def test_a_refusal_at_the_door_costs_no_attempt() -> None:
    refused = outcome(error(AUTHENTICATION, everyone=True), refusals=1)
    policy = replace(POLICY, max_calls=2)
    assert steps(refused, refused, error(SERVER), answer(), policy=policy)[2:] == [
        Wait(0.5, ANEW),
        Done(True, answer()),
    ]


def test_calls_that_are_forbidden_in_a_row_halt_the_batch_and_say_how_many_they_were() -> None:
    (halt,) = steps(outcome(error(ErrorKind.PERMISSION), refusals=FORBIDDEN))
    assert halt == Halt(Pause(kind=PauseKind.PERMISSION, message="permission (5 calls in a row)"))


@pytest.mark.parametrize("max_calls", [1, 2, 5])
def test_no_more_calls_are_asked_for_than_may_count(max_calls: int) -> None:
    policy = replace(POLICY, max_calls=max_calls)
    *waits, end = steps(*[error(TIMEOUT)] * max_calls, policy=policy)
    assert waits == [Wait(0.5 * 2**n, ANEW) for n in range(max_calls - 1)]
    assert end == failed(TIMEOUT)


@pytest.mark.parametrize(
    ("worked", "seconds", "step"),
    [
        (0.0, 99.4, Wait(0.5, ANEW)),  # 99.4 + 0.5 < 100
        (0.0, 99.5, failed(TIMEOUT)),  # 99.5 + 0.5 = 100
        (60.0, 39.4, Wait(0.5, ANEW)),
        (60.0, 39.5, failed(TIMEOUT)),
    ],
)
def test_what_would_pass_the_items_deadline_is_not_asked(worked: float, seconds: float, step: Step[bool]) -> None:
    assert steps(outcome(error(TIMEOUT), seconds=seconds), worked=worked) == [step]


def test_an_item_whose_deadline_is_over_asks_nothing() -> None:
    end = Attempt[bool](REQUEST, POLICY, worked=100.0).first()
    assert isinstance(end, Fail)
    assert end.failure.kind is TIMEOUT
    assert "100 s passed" in end.failure.message


def test_a_question_takes_its_calls_that_count_and_the_waits_between_and_no_wait_for_a_rate_limit() -> None:
    attempt: Attempt[bool] = Attempt(REQUEST, POLICY, worked=7.0)
    attempt.first()
    took = []
    for one in (
        outcome(error(RATE_LIMITED, after=300.0), seconds=9.0),
        outcome(error(TIMEOUT), seconds=10.0),  # and 0.5 of back-off
        outcome(error(SERVER, after=30.0), seconds=1.0),  # everybody waits: not this item's time
        outcome(answer(), seconds=2.0),
    ):
        following(attempt, one)
        took.append(attempt.took)
    assert took == [0.0, 10.0, 11.5, 13.5]  # 10 + 0.5 + 1 = 11.5


ERRORS = st.builds(
    CallError,
    st.sampled_from(ErrorKind),
    st.just("x"),
    retry_after=st.none() | st.floats(0.0, 50.0),
    everyone=st.just(False),
)
REFUSED_BY_DOOR = st.builds(error, st.sampled_from([AUTHENTICATION, ErrorKind.MODEL_NOT_FOUND]), everyone=st.just(True))
REPLIES = ERRORS | REFUSED_BY_DOOR | st.builds(answer, st.sampled_from([TALK, "{}", USEFUL]))
OUTCOMES = st.builds(
    outcome,
    REPLIES,
    seconds=st.floats(0.0, 60.0),
    refusals=st.integers(1, FORBIDDEN),
    anew=st.booleans(),
    hopeless=st.sampled_from([None, None, None, "of no use"]),
)
UNPAID = st.builds(
    outcome,
    st.builds(error, st.just(RATE_LIMITED), after=st.none() | st.floats(0.0, LONGEST_WAIT))
    | st.just(replace(error(RATE_LIMITED), no_capacity=True)),
    seconds=st.floats(0.0, 1e4),
)
POLICIES = st.builds(RetryPolicy, max_calls=st.integers(1, 8), deadline=st.floats(1.0, 600.0), base=st.floats(0.0, 5.0))


def run(outcomes: Iterable[CallOutcome[bool]], policy: RetryPolicy) -> tuple[list[Step[bool]], float]:
    """The steps up to the end or to the last outcome, and what the question took."""
    attempt: Attempt[bool] = Attempt(REQUEST, policy)
    found: list[Step[bool]] = [attempt.first()]
    for one in outcomes:
        if isinstance(found[-1], Done | Fail | Halt):
            break
        found.append(following(attempt, one))
    return found, attempt.took


def is_unpaid(one: CallOutcome[bool]) -> bool:
    return isinstance(one.read, CallError) and one.read.everyone


@settings(max_examples=50)
@given(st.lists(OUTCOMES, min_size=12, max_size=12), POLICIES)
def test_every_question_ends_within_the_calls_that_may_count_and_the_refusals_at_the_door(
    outcomes: list[CallOutcome[bool]], policy: RetryPolicy
) -> None:
    """Rate limits may come for ever; nothing else may."""
    paid = [one for one in outcomes if not _limited(one)]
    found, _ = run(paid, policy)
    made = paid[: len(found) - 1]
    if len(paid) >= policy.max_calls + REFUSALS - 1:
        assert isinstance(found[-1], Done | Fail | Halt)
    assert sum(not is_unpaid(one) for one in made) <= policy.max_calls
    assert sum(is_unpaid(one) for one in made) <= REFUSALS
    assert sum(step.seconds for step in found if isinstance(step, Wait)) < policy.deadline


@settings(max_examples=50)
@given(st.lists(OUTCOMES, max_size=10), st.lists(st.tuples(st.integers(0, 9), UNPAID), max_size=6), POLICIES)
def test_waiting_for_a_rate_limit_or_for_capacity_changes_nothing_of_what_follows(
    outcomes: list[CallOutcome[bool]], unpaid: list[tuple[int, CallOutcome[bool]]], policy: RetryPolicy
) -> None:
    """It costs no attempt, no deadline and no second chance: the same steps come, with waits between them."""
    mixed = list(outcomes)
    for place, one in unpaid:
        mixed.insert(min(place, len(mixed)), one)
    alone, alone_took = run((one for one in outcomes if not _limited(one)), policy)
    among, among_took = run(mixed, policy)
    limits = [index for index, one in enumerate(mixed[: len(among) - 1]) if _limited(one)]
    assert all(isinstance(among[index + 1], EndpointPause | Ask) for index in limits)
    assert [step for index, step in enumerate(among) if index - 1 not in limits] == alone
    assert among_took == alone_took


def _limited(one: CallOutcome[bool]) -> bool:
    return isinstance(one.read, CallError) and one.read.kind is RATE_LIMITED


@settings(max_examples=50)
@given(st.lists(OUTCOMES, max_size=12), POLICIES)
def test_only_a_usable_answer_is_used_and_a_call_is_the_question_itself_or_its_repair(
    outcomes: list[CallOutcome[bool]], policy: RetryPolicy
) -> None:
    found, _ = run(outcomes, policy)
    for one, step in zip(outcomes, found[1:], strict=False):
        assert isinstance(step, Done) == (not isinstance(one.read, CallError))
        ask = step.then if isinstance(step, Wait | EndpointPause) else step
        if isinstance(ask, Ask):
            assert ask.request.messages[:1] == REQUEST.messages
            assert len(ask.request.messages) in (1, 3)
            assert replace(ask.request, messages=REQUEST.messages, max_tokens=100) == REQUEST
            assert ask.request.max_tokens in (100, 200)


@pytest.mark.parametrize("kind", [TIMEOUT, ErrorKind.CONNECTION, SERVER])
def test_a_fault_of_the_endpoint_takes_no_call_and_no_time_however_often_it_comes(kind: ErrorKind) -> None:
    attempt: Attempt[bool] = Attempt(REQUEST, POLICY)
    for _ in range(50):
        assert isinstance(attempt.next(outcome(error(kind, after=30.0), seconds=90.0)), FindCause)
        assert attempt.next_by_cause(own_fault=False) == ANEW
    assert attempt.took == 0.0
    assert following(attempt, outcome(answer())) == Done(True, answer())


def test_a_call_that_was_cut_off_here_is_no_doubt_about_the_endpoint() -> None:
    attempt: Attempt[bool] = Attempt(REQUEST, POLICY)
    assert isinstance(attempt.next(outcome(replace(error(ErrorKind.CONNECTION), obstacle=Obstacle.CUT))), Wait)


def test_without_an_unexplained_call_there_is_no_step_after_it() -> None:
    with pytest.raises(ValueError, match="no call of an unknown cause"):
        Attempt[bool](REQUEST, POLICY).next_by_cause(own_fault=True)


@pytest.mark.parametrize("content", ['{"value": tr', '```json\n{"value": true', '<think>So</think>{"value": '])
def test_an_answer_that_ends_in_the_middle_is_cut_off_whatever_its_finish_reason_says(content: str) -> None:
    cut = replace(answer(content), rung=Rung.STRICT)
    read = read_reply(cut, SCHEMA, parse)
    assert isinstance(read, CallError)
    assert (read.kind, read.usage, read.rung, read.content) == (TRUNCATED, cut.usage, cut.rung, content)
    assert steps(cut, answer()) == [LARGER, Done(True, answer())]


def test_a_sampling_failure_is_asked_about_once_more() -> None:
    failed_schema = CallError(ErrorKind.MALFORMED, "400: Failed to generate JSON", status=400)
    assert steps(failed_schema, answer()) == [ANEW, Done(True, answer())]


RECORD = "Is it a trial? " + "We randomised two hundred adults to aspirin or placebo. " * 20  # 4 + 20 x 9 = 184 spaces


@pytest.mark.parametrize(
    ("prompt_tokens", "cut"),
    [
        (0, False),  # not reported
        (260, False),
        (111, False),  # 184 x 0.6 = 110.4
        (110, True),
        (33, True),
    ],
)
def test_an_answer_to_a_prompt_that_the_endpoint_has_cut_is_no_answer(prompt_tokens: int, cut: bool) -> None:
    request = replace(REQUEST, messages=(Message("system", "x " * 500), Message("user", RECORD)))
    given = replace(answer(), usage=Usage(prompt_tokens, 5), rung=Rung.STRICT)
    reply = checked_reply(request, given)
    if not cut:
        assert reply is given
        return
    assert isinstance(reply, CallError)
    assert (reply.kind, reply.usage, reply.rung) == (ErrorKind.CONTEXT_LENGTH, given.usage, Rung.STRICT)
    assert "num_ctx" in reply.message
    assert steps(reply) == [Fail(Failure(ErrorKind.CONTEXT_LENGTH, reply.message))]


@pytest.mark.parametrize(
    ("record", "usage"),
    [
        (RECORD.replace(" ", "     "), Usage(200, 5)),  # columns of a table
        (RECORD, Usage(20, 5, cached_tokens=180)),  # an endpoint that leaves cached tokens out
    ],
    ids=["runs of spaces", "cached tokens"],
)
def test_an_answer_to_a_whole_prompt_is_used_however_its_words_are_spaced_and_counted(
    record: str, usage: Usage
) -> None:
    given = replace(answer(), usage=usage)
    assert checked_reply(replace(REQUEST, messages=(Message("user", record),)), given) is given


def test_a_prompt_that_was_asked_before_may_be_in_a_cache_that_no_count_includes() -> None:
    asked = (
        Message("system", "x"),
        Message("user", RECORD),
        Message("assistant", "no"),
        Message("user", "Again: a b c"),
    )
    given = replace(answer(), usage=Usage(1, 5))
    assert checked_reply(replace(REQUEST, messages=asked), given) is given


WISHED = replace(REQUEST, options={"reasoning_effort": "low", "service_tier": "flex"}, decision=DECISION)
BARE = Ask(replace(REQUEST, options={"service_tier": "flex"}))


def wished(*replies: Reply, policy: RetryPolicy = POLICY) -> list[Step[bool]]:
    """What follows from each reply to a question with optional parameters."""
    attempt: Attempt[bool] = Attempt(WISHED, policy)
    attempt.first()
    return [following(attempt, outcome(reply)) for reply in replies]


@pytest.mark.parametrize("kind", [SERVER, ErrorKind.INVALID_REQUEST])
def test_a_question_that_fails_is_asked_once_without_its_optional_parameters(kind: ErrorKind) -> None:
    assert wished(error(kind), answer()) == [BARE, Done(True, answer())]


def test_a_question_that_fails_without_them_too_goes_on_without_them() -> None:
    steps_taken = wished(error(SERVER), error(SERVER), error(SERVER), error(SERVER))
    assert steps_taken == [BARE, Wait(1.0, BARE), Wait(2.0, BARE), failed(SERVER)]
    assert wished(error(ErrorKind.INVALID_REQUEST), error(ErrorKind.INVALID_REQUEST)) == [
        BARE,
        failed(ErrorKind.INVALID_REQUEST),
    ]


def test_other_failures_and_the_last_call_keep_them() -> None:
    assert wished(error(TIMEOUT))[0] == Wait(0.5, Ask(WISHED))
    once = RetryPolicy(max_calls=1, deadline=100.0)
    assert wished(error(SERVER), policy=once) == [failed(SERVER)]
