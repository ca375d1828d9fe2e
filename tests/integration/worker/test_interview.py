"""An interview over real HTTP: who is asked when, and for how long."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from llm_double import Double, Fault, Kind
from stage.command import python_path
from tamis_cli.doctor.interview import AskedQuestion, SampleQuestion, interview, sample_questions
from tamis_schemas import ErrorKind
from tamis_worker.engine.conversation import CallPolicy
from tamis_worker.engine.retry import RetryPolicy
from tamis_worker.llm.chat import CallError
from tamis_worker.llm.llm import LlmClient

QUESTIONS = sample_questions("m", CallPolicy(RetryPolicy(max_calls=5, deadline=900), 0.0, max_output_tokens=1024))


@pytest.fixture
def double(kept_double: Double) -> Double:
    return kept_double


@pytest.fixture
async def llm(double: Double) -> AsyncIterator[LlmClient]:
    llm = LlmClient(double.base_url, "k", timeout=20.0, connections=7)
    yield llm
    await llm.close()


def errors(asked: tuple[AskedQuestion, ...]) -> list[ErrorKind]:
    return [one.last.reply.kind for one in asked if isinstance(one.last.reply, CallError)]


def operations(questions: tuple[SampleQuestion, ...] | tuple[AskedQuestion, ...]) -> list[str]:
    return [one.operation for one in questions]


async def test_the_first_question_is_asked_alone_and_the_others_side_by_side(double: Double, llm: LlmClient) -> None:
    double.script(latency=0.2)
    asked = await interview(llm, QUESTIONS, within=20.0)
    assert operations(asked) == operations(QUESTIONS)
    assert all(one.last.read for one in asked)
    first, *others = double.calls()
    assert first.ended is not None
    assert all(call.started >= first.ended for call in others)
    assert max(call.in_flight for call in others) == 6


async def test_what_is_not_answered_in_time_is_an_error_and_nothing_waits_longer(
    double: Double, llm: LlmClient
) -> None:
    double.script(faults=[Fault(Kind.SLOW, delay=60.0, calls=(3, 5))])
    asked = await interview(llm, QUESTIONS, within=2.0)
    assert operations(asked) == operations(QUESTIONS)
    assert errors(asked) == [ErrorKind.TIMEOUT] * 2
    assert sum(one.last.read for one in asked) == 5


@pytest.mark.parametrize("kind", [Kind.UNAUTHORIZED, Kind.NOT_FOUND, Kind.QUOTA, Kind.RATE_LIMITED, Kind.DROPPED])
async def test_after_an_error_that_all_would_meet_nobody_else_is_asked(
    double: Double, llm: LlmClient, kind: Kind
) -> None:
    double.script(faults=[Fault(kind)])
    asked = await interview(llm, QUESTIONS, within=20.0)
    assert operations(asked) == [QUESTIONS[0].operation]
    assert double.count() == 1


async def test_what_befalls_one_question_keeps_none_of_the_others_from_being_asked(
    double: Double, llm: LlmClient
) -> None:
    double.script(faults=[Fault(Kind.REFUSAL, calls=(1,)), Fault(Kind.TRUNCATED, calls=(2,))])
    asked = await interview(llm, QUESTIONS, within=20.0)
    assert errors(asked) == [ErrorKind.REFUSED, ErrorKind.TRUNCATED]
    assert [one.last.read for one in asked] == [False, False, True, True, True, True, True]


async def test_an_answer_that_is_json_and_not_what_was_asked_for_is_no_answer(double: Double, llm: LlmClient) -> None:
    double.script(faults=[Fault(Kind.WRONG_SCHEMA)])
    asked = await interview(llm, QUESTIONS, within=20.0)
    assert not any(one.last.read for one in asked)
    assert all(one.last.problem for one in asked)


async def test_the_models_are_listed_at_no_cost_or_an_error_says_why_not(double: Double, llm: LlmClient) -> None:
    double.script(models=["a", "b"])
    assert await llm.models(within=10.0) == ("a", "b")
    double.script(api_key="another")
    refused = await llm.models(within=10.0)
    assert isinstance(refused, CallError)
    assert (refused.kind, refused.status) == (ErrorKind.AUTHENTICATION, 401)
    assert double.count() == 0


@pytest.mark.night
def test_ctrl_c_ends_it_at_once_and_without_a_traceback(double: Double, tmp_path: Path) -> None:
    double.script(latency=60.0)
    process = subprocess.Popen(
        [sys.executable, "-m", "tamis_cli", "doctor", "--endpoint"],
        env={"TAMIS_LLM_BASE_URL": double.base_url, "TAMIS_MODEL": "m", "PYTHONPATH": python_path()},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    double.wait(calls=1, bound=60.0)
    process.send_signal(2)
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, "Traceback" in out) == (130, False), out
    double.wait(in_flight=0)
