"""What a steered question is asked with, by which key its answer is kept, and what a deadline counts of it."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pytest

from tamis_schemas import NO_STEERING, ErrorKind, Steering, Tier, Usage
from tamis_worker.engine.cache import fingerprint
from tamis_worker.engine.call_accounting import CallAccounting
from tamis_worker.engine.conversation import CallPolicy, chat_request
from tamis_worker.engine.retry import RetryPolicy
from tamis_worker.llm.chat import CallError, ChatAnswer, ChatRequest, Message
from tamis_worker.operations.filter import DECISION
from tamis_worker.operations.program import Question

PATIENCE = CallPolicy(RetryPolicy(5, 900.0), temperature=0.0, max_output_tokens=100, flex_timeout=900.0)
QUESTION: Question[Any] = Question((Message("user", "Is it?"),), "filter", {}, parse=lambda data: data)
REQUEST = ChatRequest(
    "gpt-5-mini",
    (Message("system", "Décide."), Message("user", "Is it?")),
    "filter",
    {"type": "object", "properties": {"value": {"type": "boolean"}}},
    0.0,
    1024,
)


def test_a_question_carries_what_its_batch_is_steered_by() -> None:
    steering = Steering(
        reasoning_effort="low", tier=Tier.FLEX, extra_body={"top_p": 0.9}, extra_headers={"X-Team": "reviews"}
    )
    request = chat_request(QUESTION, "m", PATIENCE, steering)
    assert request.options == {"reasoning_effort": "low", "service_tier": "flex", "top_p": 0.9}
    assert request.headers == {"X-Team": "reviews"}
    assert request.timeout == 900.0


@pytest.mark.parametrize("steering", [NO_STEERING, Steering(tier=Tier.STANDARD), Steering(tier=Tier.PRIORITY)])
def test_only_the_flex_tier_has_a_time_of_its_own(steering: Steering) -> None:
    assert chat_request(QUESTION, "m", PATIENCE, steering).timeout is None


def test_the_key_of_a_question_that_is_not_steered_is_that_of_all_releases() -> None:
    """Recorded from the release before there was steering: answers that it kept are found."""
    assert fingerprint(REQUEST) == "1bf5c96b43a76effa144004800d7932d8077a5f751e0dfd42504d81b197a97ff"
    assert fingerprint(REQUEST, 1) == "65e3754325ed718955f1f502502bff8db6f0711a6fe55773f5a47f90269d319a"


@pytest.mark.parametrize("tier", list(Tier))
def test_a_tier_changes_no_key(tier: Tier) -> None:
    assert fingerprint(replace(REQUEST, options=Steering(tier=tier).options, timeout=900.0)) == fingerprint(REQUEST)


OTHERWISE: dict[str, list[object]] = {
    "model": ["gpt-5"],
    "messages": [
        (Message("system", "Décide!"), Message("user", "Is it?")),
        (Message("user", "Décide."), Message("user", "Is it?")),
        (Message("user", "Is it?"), Message("system", "Décide.")),
        (Message("user", "Is it?"),),
    ],
    "schema_name": ["score"],
    "schema": [{"type": "object", "properties": {"value": {"type": "string"}}}, {}],
    "temperature": [0.7, None],
    "max_tokens": [1023, 2048],
    "options": [{"reasoning_effort": "low"}],
    "headers": [{"X-Model": "a"}],
}


def test_each_field_of_a_question_that_can_change_its_answer_makes_another_key_by_itself() -> None:
    assert {*OTHERWISE, "timeout", "decision"} == {field.name for field in fields(ChatRequest)}
    others = [replace(REQUEST, **{name: value}) for name, values in OTHERWISE.items() for value in values]
    keys = {fingerprint(request) for request in [REQUEST, *others]}
    assert len(keys) == 1 + len(others)
    assert fingerprint(replace(REQUEST, timeout=1.0, decision=DECISION)) == fingerprint(REQUEST)


def test_a_question_that_decides_asks_for_its_tokens_and_finds_the_answers_from_before() -> None:
    decides = replace(QUESTION, decision=DECISION)
    asked = chat_request(decides, "m", PATIENCE)
    assert asked.options == {"logprobs": True, "top_logprobs": 5}
    assert chat_request(QUESTION, "m", PATIENCE).options == {}  # it decides nothing
    switched_off = chat_request(decides, "m", replace(PATIENCE, logprobs=False))
    assert switched_off.options == {}
    assert fingerprint(asked) == fingerprint(switched_off)
    steered = chat_request(decides, "m", PATIENCE, Steering(extra_body={"logprobs": False}))
    assert steered.options == {"logprobs": False}


def test_whatever_steers_an_answer_makes_another_key() -> None:
    options: list[Mapping[str, object]] = [
        {},
        {"reasoning_effort": "low"},
        {"reasoning_effort": "high"},
        {"top_p": 0.9},
        {"top_p": 0.8},
    ]
    headers = [{}, {"X-Model": "a"}, {"X-Model": "b"}, {"X-Other": "a"}]
    keys = {
        fingerprint(replace(REQUEST, options=one, headers=another), sample)
        for one in options
        for another in headers
        for sample in (0, 1)
    }
    assert len(keys) == len(options) * len(headers) * 2


def test_the_case_of_a_headers_name_and_the_order_of_fields_make_no_other_key() -> None:
    one = replace(REQUEST, options={"a": 1, "b": 2}, headers={"X-Team": "t", "X-B": "u"})
    other = replace(REQUEST, options={"b": 2, "a": 1}, headers={"x-b": "u", "x-team": "t"})
    assert fingerprint(one) == fingerprint(other)


def test_an_item_is_billed_at_the_tier_that_its_last_answer_named() -> None:
    accounting = CallAccounting()
    answer = ChatAnswer("{}", "m", Usage(1, 1), "stop", latency_ms=0)
    told = []
    for reply in (
        answer,
        replace(answer, tier="flex"),
        CallError(ErrorKind.RATE_LIMITED, "429", no_capacity=True),
        CallError(ErrorKind.TRUNCATED, "cut", tier="default"),
    ):
        accounting.note(reply, None)
        told.append(accounting.tier)
    assert told == [None, "flex", "flex", "default"]
