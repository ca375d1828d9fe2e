"""Clients of either kind in either form: what is a failure of the judge, what a mistake in the program."""

import asyncio
import json
import logging
import threading
from typing import Any

import pytest

from judge_clients import (
    BLOCKED,
    BOUND,
    CLASSIFICATION,
    REPLY,
    AsyncClient,
    Client,
    Kind,
    Many,
    One,
    each_form,
    each_form_of_many,
    each_kind,
    evaluated,
    failing,
    neutral,
    saying,
)
from tamis_schemas import InvalidParameters
from tamis_worker.operations.judge import evaluate_evidence_quality_async


class LibraryError(Exception):
    """As the libraries of endpoints have them."""


@pytest.mark.spec("5.21", "5.22")
@each_kind
@each_form
@pytest.mark.parametrize(
    ("error", "issue"),
    [
        (RuntimeError("no connection"), "no connection"),
        (TimeoutError(), "TimeoutError"),
        (ConnectionResetError("reset by peer"), "reset by peer"),
        (json.JSONDecodeError("no JSON", "x", 0), "no JSON: line 1 column 1 (char 0)"),
        (KeyError("choices"), "'choices'"),
        (LibraryError("529: overloaded"), "529: overloaded"),
        (TypeError("'NoneType' object is not subscriptable"), "'NoneType' object is not subscriptable"),
        (AttributeError("'list' object has no attribute 'get'"), "'list' object has no attribute 'get'"),
        (AssertionError("no choices"), "no choices"),
    ],
)
def test_a_judge_that_fails_blocks_nothing(
    kind: Kind, evaluate: One, error: Exception, issue: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        assert evaluated(failing(error, kind), evaluate=evaluate) == neutral(issue)
    assert [record.exc_info is not None for record in caplog.records] == [True]


@each_kind
def test_a_client_that_has_run_out_of_answers_fails_and_is_not_waited_for(kind: Kind) -> None:
    answers = iter([REPLY])
    client = kind(lambda _: next(answers))
    assert [evaluated(client)["quality_score"] for _ in range(2)] == [0.9, 0.7]


@pytest.mark.spec("5.21")
@each_kind
@each_form
@pytest.mark.parametrize(
    "error",
    [
        UnboundLocalError("reply"),  # a NameError
        ModuleNotFoundError("httpx"),  # an ImportError
        NotImplementedError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_mistake_in_the_client_is_raised_and_never_neutral(kind: Kind, evaluate: One, error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        evaluated(failing(error, kind), evaluate=evaluate)
    assert raised.value is error


class Text:
    def call_json(self) -> object:
        return REPLY


class Answer:
    call_json = REPLY


class NoTemperature:
    async def call_json(self, system_prompt: str, user_prompt: str) -> object:
        return REPLY


@pytest.mark.spec("5.21")
@each_form_of_many
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"llm_client": None}, AttributeError),
        ({"llm_client": object()}, AttributeError),
        ({"llm_client": Text()}, TypeError),  # takes no prompts
        ({"llm_client": NoTemperature()}, TypeError),
        ({"llm_client": Answer()}, TypeError),  # cannot be called
        ({"classifications": None}, TypeError),
        ({"classifications": [None]}, AttributeError),
        ({"classifications": CLASSIFICATION}, AttributeError),  # one, not a list
        ({"email_context": None}, TypeError),
        ({"email_context": ["Dear all"]}, AttributeError),
        ({"section_guidelines": None}, AttributeError),
        ({"actual_batch_size": "20"}, TypeError),
        ({"max_workers": "5"}, TypeError),
        ({"max_workers": 0}, InvalidParameters),
        ({"max_workers": -1}, InvalidParameters),
    ],
)
def test_a_wrong_argument_is_raised_and_never_neutral(
    evaluate: Many, changes: dict[str, Any], error: type[Exception]
) -> None:
    arguments: dict[str, Any] = {
        "classifications": [CLASSIFICATION, CLASSIFICATION],
        "email_context": "c",
        "section_guidelines": "g",
        "llm_client": saying(REPLY),
    }
    with pytest.raises(error):
        evaluate(**arguments | changes)


async def test_the_synchronous_form_can_be_used_where_a_loop_runs() -> None:
    assert evaluated(saying(BLOCKED)) == evaluated(saying(BLOCKED, AsyncClient)) == BLOCKED


@pytest.mark.spec("5.15")
async def test_a_synchronous_client_does_not_stop_the_loop_of_the_asynchronous_form() -> None:
    loop_runs = threading.Event()
    asyncio.get_running_loop().call_soon(asyncio.get_running_loop().call_soon, loop_runs.set)
    client = Client(lambda _: REPLY if loop_runs.wait(BOUND) else None)
    assert (await evaluate_evidence_quality_async(CLASSIFICATION, "c", "g", client))["quality_score"] == 0.9
