"""What follows from an error: the table of `retry`, and its bounds."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import ErrorKind
from tamis_worker.engine.retry import FORBIDDEN, LONGEST_WAIT, REFUSALS, RetryDecision, RetryPolicy, backoff, decide
from tamis_worker.llm.chat import CallError

POLICY = RetryPolicy(max_calls=5, deadline=900.0, base=1.0, cap=60.0, rate_limit_wait=5.0)
REFUSED = [ErrorKind.AUTHENTICATION, ErrorKind.PERMISSION, ErrorKind.MODEL_NOT_FOUND]
CALLED = [kind for kind in ErrorKind if kind is not ErrorKind.RATE_LIMITED]

kinds = st.sampled_from(ErrorKind)
jitters = st.floats(min_value=0.0, max_value=1.0, exclude_max=True)
waits = st.none() | st.floats(min_value=0.0, max_value=LONGEST_WAIT)
policies = st.builds(
    RetryPolicy,
    max_calls=st.integers(1, 12),
    deadline=st.floats(1.0, 2000.0),
    base=st.floats(0.0, 10.0),
    cap=st.floats(0.0, 120.0),
)


def decision(kind: ErrorKind, *, retry_after: float | None = None, attempt: int = 1, **more: object) -> RetryDecision:
    given_ = {"elapsed": 0.0, "policy": POLICY, "jitter": 0.5, **more}
    return decide(CallError(kind, "x", retry_after=retry_after), attempt=attempt, **given_)  # type: ignore[arg-type]  # a table's row


@given(st.integers(1, 100), st.floats(0.0, 1e6), jitters, waits)
def test_no_capacity_is_asked_again_without_counting_or_blocking(
    attempt: int, elapsed: float, jitter: float, retry_after: float | None
) -> None:
    error = CallError(ErrorKind.RATE_LIMITED, "x", status=429, retry_after=retry_after, no_capacity=True)
    found = decide(error, attempt=attempt, elapsed=elapsed, policy=POLICY, jitter=jitter)
    assert found == RetryDecision.retry(0.0, counts=False)  # who may ask, and when, is for the capacity to say


@pytest.mark.parametrize(
    ("attempt", "jitter", "expected"),
    [
        (1, 0.5, 0.5),  # 0.5 x min(60, 1 x 2^0)
        (2, 0.5, 1.0),  # 0.5 x min(60, 1 x 2^1)
        (4, 0.25, 2.0),  # 0.25 x min(60, 1 x 2^3)
        (7, 0.5, 30.0),  # 0.5 x min(60, 1 x 2^6 = 64)
        (5000, 0.5, 30.0),
        (3, 0.0, 0.0),
    ],
)
def test_backoff_doubles_up_to_its_cap_with_full_jitter(attempt: int, jitter: float, expected: float) -> None:
    assert backoff(attempt, POLICY, jitter) == expected


@pytest.mark.parametrize("kind", [ErrorKind.TIMEOUT, ErrorKind.CONNECTION, ErrorKind.SERVER])
def test_a_transient_error_is_asked_again_after_backoff_and_counts(kind: ErrorKind) -> None:
    assert decision(kind, attempt=3) == RetryDecision.retry(2.0, counts=True)  # 0.5 x 2^2


@pytest.mark.parametrize("kind", [ErrorKind.TIMEOUT, ErrorKind.CONNECTION])
def test_without_an_answer_a_retry_after_neither_sets_the_wait_nor_blocks_the_others(kind: ErrorKind) -> None:
    assert decision(kind, retry_after=30.0, attempt=3) == RetryDecision.retry(2.0, counts=True)  # 0.5 x 2^2


@pytest.mark.parametrize("kind", CALLED)
def test_nothing_that_counts_is_asked_beyond_the_call_budget(kind: ErrorKind) -> None:
    assert decision(kind, attempt=5, earlier=()) == RetryDecision.give_up(kind)


@pytest.mark.parametrize("kind", CALLED)
def test_nothing_that_counts_is_asked_beyond_the_deadline(kind: ErrorKind) -> None:
    assert decision(kind, elapsed=900.0) == RetryDecision.give_up(kind)


def test_a_wait_that_would_pass_the_deadline_is_not_begun() -> None:
    assert decision(ErrorKind.SERVER, retry_after=30.0, elapsed=869.0).again  # 869 + 30 < 900
    assert decision(ErrorKind.SERVER, retry_after=31.0, elapsed=869.0) == RetryDecision.give_up(ErrorKind.SERVER)


def test_a_rate_limit_waits_as_asked_costs_nothing_and_blocks_everyone() -> None:
    expected = RetryDecision.retry(30.0, counts=False, blocks=True)
    assert decision(ErrorKind.RATE_LIMITED, retry_after=30.0) == expected


def test_a_rate_limit_knows_no_deadline_and_no_call_budget() -> None:
    assert decision(ErrorKind.RATE_LIMITED, retry_after=LONGEST_WAIT, attempt=99, elapsed=1e6).again


@pytest.mark.parametrize("kind", [ErrorKind.RATE_LIMITED, ErrorKind.SERVER])
@pytest.mark.parametrize("asked", [301.0, 34_718.0, 1e9, math.inf])
def test_a_wait_of_more_than_five_minutes_pauses_the_batch_and_blocks_nobody(kind: ErrorKind, asked: float) -> None:
    assert decision(kind, retry_after=asked) == RetryDecision.halt(ErrorKind.RATE_LIMITED, after=asked)


@given(st.sampled_from(ErrorKind), st.floats(0.0), st.integers(1, 9), st.floats(0, 1e4), jitters)
def test_no_block_and_no_wait_is_longer_than_five_minutes(
    kind: ErrorKind, asked: float, attempt: int, elapsed: float, jitter: float
) -> None:
    error = CallError(kind, "x", retry_after=asked)
    made = decide(error, attempt=attempt, elapsed=elapsed, policy=POLICY, jitter=jitter)
    assert not made.again or made.after <= LONGEST_WAIT


@pytest.mark.parametrize(("jitter", "expected"), [(0.0, 2.5), (0.5, 3.75), (0.999, 4.9975)])  # 5 x (0.5 + jitter / 2)
def test_a_rate_limit_that_does_not_say_how_long_never_waits_less_than_half(jitter: float, expected: float) -> None:
    assert decision(ErrorKind.RATE_LIMITED, jitter=jitter).after == pytest.approx(expected)


def test_a_server_that_says_how_long_blocks_everyone_and_counts() -> None:
    for asked, after in ((7.0, 7.0), (0.5, 0.5), (0.0, 0.0), (-1.0, 0.0)):
        assert decision(ErrorKind.SERVER, retry_after=asked) == RetryDecision.retry(after, counts=True, blocks=True)


@pytest.mark.spec("5.17")
def test_an_answer_that_was_cut_off_gets_one_larger_budget() -> None:
    assert decision(ErrorKind.TRUNCATED) == RetryDecision.retry(0.0, counts=True, larger_budget=True)
    again = decision(ErrorKind.TRUNCATED, attempt=2, earlier=[ErrorKind.TRUNCATED])
    assert again == RetryDecision.give_up(ErrorKind.TRUNCATED)


def test_a_cut_off_answer_after_another_error_still_gets_its_larger_budget() -> None:
    assert decision(ErrorKind.TRUNCATED, attempt=3, earlier=[ErrorKind.CONNECTION, ErrorKind.EMPTY]).larger_budget


@pytest.mark.parametrize("kind", [ErrorKind.EMPTY, ErrorKind.MALFORMED, ErrorKind.INVALID])
def test_an_unusable_answer_gets_one_second_chance(kind: ErrorKind) -> None:
    assert decision(kind) == RetryDecision.retry(0.0, counts=True)
    assert decision(kind, attempt=2, earlier=[kind]) == RetryDecision.give_up(kind)


@pytest.mark.parametrize("kind", [ErrorKind.EMPTY, ErrorKind.MALFORMED, ErrorKind.INVALID])
def test_a_question_that_is_asked_in_another_way_is_asked_anew_within_the_call_budget(kind: ErrorKind) -> None:
    """With or without a repair before: it is none itself."""
    anew = RetryDecision.retry(0.0, counts=True, anew=True)
    assert decision(kind, anew=True) == anew
    assert decision(kind, attempt=4, earlier=[kind], anew=True) == anew
    assert decision(kind, attempt=5, earlier=[kind], anew=True) == RetryDecision.give_up(kind)


def test_an_answer_that_was_cut_off_is_asked_for_anew_too_where_the_way_of_asking_has_changed() -> None:
    assert decision(ErrorKind.TRUNCATED, anew=True) == RetryDecision.retry(0.0, counts=True, anew=True)
    assert decision(ErrorKind.TRUNCATED).larger_budget


def test_what_is_refused_is_never_asked_for_anew() -> None:
    assert decision(ErrorKind.REFUSED, anew=True) == RetryDecision.give_up(ErrorKind.REFUSED)


def test_a_hopeless_model_halts_the_batch_even_with_the_items_last_call() -> None:
    for attempt in (1, 5):
        halted = decision(ErrorKind.MALFORMED, attempt=attempt, earlier=(), hopeless=True)
        assert halted == RetryDecision.halt(ErrorKind.MALFORMED)


def test_unusable_answers_of_different_kinds_share_one_second_chance() -> None:
    second = decision(ErrorKind.INVALID, attempt=2, earlier=[ErrorKind.MALFORMED])
    assert second == RetryDecision.give_up(ErrorKind.INVALID)


@pytest.mark.parametrize(
    "kind",
    [
        ErrorKind.PERMISSION,
        ErrorKind.INVALID_REQUEST,
        ErrorKind.CONTEXT_LENGTH,
        ErrorKind.REFUSED,
        ErrorKind.CONTENT_FILTER,
        ErrorKind.NO_CONTENT,
        ErrorKind.ATTEMPTS_EXHAUSTED,
        ErrorKind.INTERNAL,
    ],
)
def test_what_another_call_cannot_mend_is_given_up_at_once(kind: ErrorKind) -> None:
    assert decision(kind, retry_after=1.0) == RetryDecision.give_up(kind)


def refused(kind: ErrorKind, *, in_a_row: int, earlier: int = 0, everyone: bool = True) -> RetryDecision:
    error = CallError(kind, "x", everyone=everyone)
    return decide(error, attempt=1, elapsed=0.0, policy=POLICY, jitter=0.5, earlier=[kind] * earlier, in_a_row=in_a_row)


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refused_key_or_model_is_asked_again_and_the_third_in_a_row_halts_the_batch(kind: ErrorKind) -> None:
    assert refused(kind, in_a_row=1) == RetryDecision.retry(0.0, counts=False)
    assert refused(kind, in_a_row=2, earlier=1) == RetryDecision.retry(0.0, counts=False)
    assert refused(kind, in_a_row=REFUSALS) == RetryDecision.halt(kind)
    assert refused(kind, in_a_row=500) == RetryDecision.halt(kind)


@pytest.mark.parametrize("kind", REFUSED)
def test_an_item_that_is_refused_while_others_are_answered_is_given_up(kind: ErrorKind) -> None:
    assert refused(kind, in_a_row=1, earlier=REFUSALS - 1) == RetryDecision.give_up(kind)


def test_a_403_is_the_items_own_until_five_come_in_a_row() -> None:
    kind = ErrorKind.PERMISSION
    assert (REFUSALS, FORBIDDEN) == (3, 5)
    for in_a_row in range(1, FORBIDDEN):
        assert refused(kind, in_a_row=in_a_row, everyone=False) == RetryDecision.give_up(kind)
    assert refused(kind, in_a_row=FORBIDDEN, everyone=False) == RetryDecision.halt(kind)


@given(policies, jitters, st.integers(1, 100))
def test_waits_stay_between_zero_and_the_cap(policy: RetryPolicy, jitter: float, attempt: int) -> None:
    assert 0.0 <= backoff(attempt, policy, jitter) <= policy.cap


@given(policies, jitters, st.integers(1, 100))
def test_the_bound_of_a_wait_never_shrinks_with_attempts(policy: RetryPolicy, jitter: float, attempt: int) -> None:
    assert backoff(attempt, policy, jitter) <= backoff(attempt + 1, policy, jitter)


@given(st.lists(st.tuples(kinds, waits), min_size=40, max_size=60), policies, st.floats(0.0, 0.99))
def test_an_item_never_costs_more_calls_than_its_budget(
    errors: list[tuple[ErrorKind, float | None]], policy: RetryPolicy, jitter: float
) -> None:
    counted = 0
    elapsed = 0.0
    earlier: list[ErrorKind] = []
    for kind, retry_after in errors:
        counted += kind is not ErrorKind.RATE_LIMITED
        error = CallError(kind, "x", retry_after=retry_after)
        made = decide(
            error,
            attempt=max(1, counted),
            elapsed=elapsed,
            policy=policy,
            jitter=jitter,
            earlier=earlier,
        )
        assert made.counts is (kind is not ErrorKind.RATE_LIMITED)
        assert made.after >= 0.0
        if not made.again:
            assert made.kind is kind
            break
        assert made.kind is None
        earlier.append(kind)
        elapsed += made.after if made.counts else 0.0
    assert counted <= policy.max_calls
    assert elapsed < policy.deadline


@given(kinds, waits, st.integers(1, 20), st.floats(0, 1e4), jitters)
def test_a_more_generous_budget_never_gives_up_sooner(
    kind: ErrorKind, retry_after: float | None, attempt: int, elapsed: float, jitter: float
) -> None:
    error = CallError(kind, "x", retry_after=retry_after)
    more = replace(POLICY, max_calls=POLICY.max_calls + 5, deadline=POLICY.deadline * 2)
    tight = decide(error, attempt=attempt, elapsed=elapsed, policy=POLICY, jitter=jitter)
    generous = decide(error, attempt=attempt, elapsed=elapsed, policy=more, jitter=jitter)
    assert generous.again or not tight.again
