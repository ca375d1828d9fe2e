"""What the doctor says of the answers of an interview."""

from dataclasses import replace
from typing import Any

import pytest

from tamis_cli.doctor.answers import judge_answers
from tamis_cli.doctor.endpoint import ExaminedEndpoint
from tamis_cli.doctor.finding import Finding, Level
from tamis_cli.doctor.interview import AskedQuestion, Call
from tamis_schemas import ErrorKind, Usage
from tamis_worker.limiter.rate_headers import RateHeaders
from tamis_worker.llm.chat import CallError, ChatAnswer
from tamis_worker.llm.dialect import Dialect, Rung
from tamis_worker.operations.filter import DECISION

OK, WARNING, FAILURE = Level.OK, Level.WARNING, Level.FAILURE
ENDPOINT = ExaminedEndpoint("https://llm.example/v1", "gpt-5-mini")
ANSWER = ChatAnswer('{"value": true}', "gpt-5-mini", Usage(400, 40), "stop", latency_ms=1200)
STRICT, JSON_OBJECT, TEXT = (Dialect(rung) for rung in (Rung.STRICT, Rung.JSON_OBJECT, Rung.TEXT))
READ = Call(STRICT, ANSWER)
PROSE = replace(ANSWER, content="It should be\nincluded. " + "x" * 200)


def judged(*asked: AskedQuestion) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in judge_answers(ENDPOINT, asked):
        found.setdefault(finding.subject, []).append(finding)
    return found


def failed(kind: ErrorKind, message: str = "why", **more: object) -> Call:
    return Call(STRICT, CallError(kind, message, **more))  # type: ignore[arg-type] # fields


def test_all_is_well_with_answers_that_follow_a_strict_schema() -> None:
    slower = Call(STRICT, replace(ANSWER, latency_ms=2000))
    found = judged(
        AskedQuestion("filter", (READ,), {"temperature": 0.0}), AskedQuestion("score", (slower,), {"temperature": 0.0})
    )
    assert {one.level for findings in found.values() for one in findings} == {OK}
    assert found["answers"][0].what == "filter, score: the answers are usable; 1.6 s per call"  # (1.2 + 2.0) / 2
    assert found["shape"][0].what == "requests describe the answer as a strict schema (strict), and answers follow it"
    assert found["parameters"][0].what == "accepted: max_tokens, temperature"
    assert found["model"][0].what == "gpt-5-mini answers under this name"


def test_a_schema_that_is_taken_and_ignored_is_told_from_one_that_is_refused() -> None:
    ignored = (Call(STRICT, PROSE, "no JSON"), Call(JSON_OBJECT, PROSE, "no JSON"), Call(TEXT, ANSWER))
    shape = judged(AskedQuestion("filter", ignored))["shape"][0]
    assert shape.level is WARNING
    assert "accepts a schema but does not enforce it" in shape.what
    assert "(text)" in shape.what
    assert shape.what.endswith("learning this took 2 calls")
    refused = judged(AskedQuestion("filter", (Call(JSON_OBJECT, ANSWER),)))["shape"][0]
    assert refused.level is OK
    assert refused.what.endswith("with JSON mode (json_object): the endpoint refuses strict schemas, at no cost")


def test_operations_on_different_rungs_are_told_apart() -> None:
    found = judged(AskedQuestion("filter", (READ,)), AskedQuestion("judge", (Call(TEXT, ANSWER),)))
    assert [one.what.partition(":")[0] for one in found["shape"]] == ["filter", "judge"]


def test_an_answer_that_no_rung_brings_into_shape_is_a_failure_told_once_with_the_answer_shortened() -> None:
    lost = (Call(STRICT, PROSE, "no JSON object"), Call(TEXT, PROSE, "no JSON object"))
    found = judged(
        AskedQuestion("filter", lost),
        AskedQuestion("score", lost),
        AskedQuestion("judge", (Call(TEXT, PROSE, "status: missing"),)),
    )
    first, second = found["answers"]
    assert first.level is second.level is FAILURE
    assert first.what.startswith("filter, score: unusable answer: no JSON object; the answer to filter")
    assert "'It should be included. xxx" in first.what
    assert first.what.endswith("...'")
    assert len(first.what) < 220
    assert second.what.startswith("judge: unusable answer: status: missing")
    assert "shape" not in found


@pytest.mark.parametrize(
    ("kind", "level", "mend"),
    [
        (ErrorKind.TRUNCATED, WARNING, "TAMIS_MAX_OUTPUT_TOKENS"),
        (ErrorKind.EMPTY, FAILURE, "TAMIS_MAX_OUTPUT_TOKENS"),
        (ErrorKind.REFUSED, WARNING, "TAMIS_MODEL"),
        (ErrorKind.CONTENT_FILTER, WARNING, "filter"),
        (ErrorKind.TIMEOUT, WARNING, "TAMIS_CALL_TIMEOUT"),
    ],
)
def test_what_befalls_some_questions_is_told_once_for_all_that_it_befell(
    kind: ErrorKind, level: Level, mend: str
) -> None:
    found = judged(
        AskedQuestion("filter", (READ,)),
        AskedQuestion("score", (failed(kind),)),
        AskedQuestion("judge", (failed(kind),)),
    )
    used, unanswered = found["answers"]
    assert used.what.startswith("filter: the answer is usable")
    assert (unanswered.level, unanswered.what) == (level, "score, judge: why")
    assert mend in (unanswered.mend or "")


def test_without_any_answer_nothing_is_said_but_why() -> None:
    wrong_key = failed(ErrorKind.AUTHENTICATION, status=401, everyone=True)
    (found,) = judge_answers(ENDPOINT, [AskedQuestion("filter", (wrong_key,))])
    assert (found.subject, found.level) == ("LLM", FAILURE)
    assert "refuses the key (401)" in found.what


def test_an_endpoint_that_leaves_the_first_question_without_an_answer_is_a_failure() -> None:
    late = failed(ErrorKind.TIMEOUT, latency_ms=120_000)
    (found,) = judge_answers(ENDPOINT, [AskedQuestion("filter", (late,))])
    assert (found.level, found.what) == (FAILURE, "https://llm.example/v1 does not answer within 120 s")


def test_refused_parameters_are_named_and_only_what_was_asked_for_is_a_warning() -> None:
    without = Dialect(Rung.STRICT, "max_completion_tokens", frozenset({"temperature", "prompt_cache_key"}))
    given = {"temperature": 0.0, "prompt_cache_key": "k", "reasoning_effort": "low", "top_k": 1}
    (only,) = judged(AskedQuestion("filter", (Call(without, ANSWER),), given))["parameters"]
    assert only.level is OK
    assert only.what == (
        "accepted: max_completion_tokens, reasoning_effort, top_k; refused, so omitted: max_tokens, "
        "prompt_cache_key, temperature (the model's default applies, so answers vary)"
    )
    less = replace(without, left_out=frozenset({"temperature", "reasoning_effort"}))
    taken, refused = judged(AskedQuestion("filter", (Call(less, ANSWER),), given))["parameters"]
    assert (taken.level, refused.level) == (OK, WARNING)
    assert "reasoning_effort" not in taken.what
    assert refused.what == "the endpoint refuses reasoning_effort: it is omitted and has no effect"


@pytest.mark.parametrize(
    ("asked", "answers", "level"),
    [
        ("gpt-5-mini", "gpt-5-mini", OK),
        ("gpt-5-mini", "gpt-5-mini-2025-08-07", OK),
        ("openai/gpt-5-mini", "gpt-5-mini", OK),
        ("gpt-5-mini", "openai/gpt-5-mini", OK),
        ("qwen2.5", "qwen2.5:7b", OK),
        ("qwen2.5:latest", "qwen2.5", OK),
        ("m.gguf", "/models/M.gguf", OK),
        ("gpt-5-mini", "gpt-5", WARNING),  # another price
        ("gpt-5", "gpt-4o", WARNING),
        ("gpt-5-mini", "", WARNING),
    ],
)
def test_a_model_that_answers_for_another_is_a_warning(asked: str, answers: str, level: Level) -> None:
    said = AskedQuestion("filter", (Call(STRICT, replace(ANSWER, model=answers)),))
    found = [one for one in judge_answers(replace(ENDPOINT, model=asked), [said]) if one.subject == "model"]
    assert [one.level for one in found] == [level]


def test_limits_that_the_endpoint_says_are_told() -> None:
    rate = RateHeaders(limit_requests=500, limit_tokens=200_000)
    said = judged(AskedQuestion("filter", (Call(STRICT, replace(ANSWER, rate=rate)),)))["limits"][0]
    assert said.what.endswith("500 requests and 200,000 tokens")
    assert "reports no limits" in judged(AskedQuestion("filter", (READ,)))["limits"][0].what


def test_a_decision_has_a_probability_or_it_is_said_why_not() -> None:
    listed = [{"token": "true", "logprob": -0.1}, {"token": "false", "logprob": -2.4}]
    tokens = [
        {"token": '{"value": ', "logprob": 0.0},
        {"token": "true", "logprob": -0.1, "top_logprobs": listed},
        {"token": "}", "logprob": 0.0},
    ]
    asked = {"logprobs": True, "top_logprobs": 5}

    def said(call: Call, **more: Any) -> list[str]:
        question = AskedQuestion("filter", (call,), **{"optional": asked, "decision": DECISION, **more})
        return [one.what.partition(";")[0] for one in judged(question).get("probability", [])]

    given = Call(STRICT, replace(ANSWER, tokens=tokens))
    refused = Call(replace(STRICT, left_out=frozenset(asked)), ANSWER)
    assert said(given) == ["filter: the answer's tokens give the probability of the decision"]
    assert said(READ) == ["no token probabilities: the endpoint sends none"]
    assert said(refused) == ["no token probabilities: the endpoint refuses them"]
    assert said(Call(STRICT, replace(ANSWER, tokens=tokens[:1]))) == ["no token probabilities: they are unusable"]
    assert said(given, optional={}) == said(given, decision=None) == []
    (parameters,) = judged(AskedQuestion("filter", (refused,), asked, DECISION))["parameters"]
    assert parameters.level is OK
    assert "refused, so omitted: logprobs, top_logprobs" in parameters.what
