"""Odd habits of endpoints: which calls they concern, and what is sent."""

import json

import pytest

from llm_double.asked import Asked
from llm_double.completion import completion_of
from llm_double.connection import Response
from llm_double.personalities.character import Character
from llm_double.personalities.observed import CHANGES, HABITS, REFUSALS, Observed, When
from llm_double.personalities.personality import Personality
from stage.asking import SCHEMA, asked

OBJECT = '{"decision": "include", "met": true}'


def about(record: int | None, number: int = 1, **more: object) -> Asked:
    text = "Answer with the JSON object {}" if record is None else f"Title of record number {record}."
    return asked(text, schema=SCHEMA, number=number, **more)


COMPLETION = completion_of(about(3), OBJECT, Character(), None)
USUAL = Response(json.dumps(COMPLETION).encode())


def sent(endpoint: Observed, call: Asked) -> Response | None:
    """The HTTP answer to a call; None: another answer stands in its place."""
    if endpoint.refusal(call) is not None:
        return None
    return endpoint.response(call, USUAL, COMPLETION)


@pytest.mark.parametrize(
    ("when", "concerned"),
    [
        (When.ALWAYS, [True, True, True, True, True]),
        (When.SOME, [False, True, True, False, True]),
        (When.ONCE, [False, True, False, False, True]),
    ],
)
def test_a_habit_concerns_every_call_or_each_fourth_record_or_its_first_call(when: When, concerned: list[bool]) -> None:
    endpoint = Observed("azure_filter", when)
    calls = [about(record, number) for number, record in enumerate((2, 3, 3, None, 7))]
    assert [sent(endpoint, call) is None for call in calls] == concerned


def test_a_call_that_a_habit_does_not_concern_gets_the_usual_answer() -> None:
    assert sent(Observed("no_choices", When.SOME), about(2)) == USUAL
    assert sent(Observed("gzip", When.SOME), about(None)) == USUAL


@pytest.mark.parametrize("habit", HABITS)
def test_every_habit_shows_in_the_answer(habit: str) -> None:
    call = about(3, logprobs=True, max_tokens=9, max_completion_tokens=9)
    assert sent(Observed(habit), call) != USUAL
    assert (sent(Observed(habit), call) is None) is (habit in REFUSALS)


@pytest.mark.parametrize("habit", CHANGES)
def test_a_changed_completion_is_json_as_python_writes_it(habit: str) -> None:
    response = sent(Observed(habit), about(3))
    assert response is not None
    assert isinstance(json.loads(response.body), dict)


@pytest.mark.parametrize("habit", ["mistral", "mistral_list", "reasoning_model", "older_server", "logprobs_500"])
def test_a_request_without_the_refused_parameters_is_answered(habit: str) -> None:
    assert sent(Observed(habit), about(3)) is not None


def test_an_unknown_habit_or_time_is_refused() -> None:
    with pytest.raises(ValueError, match="'sings'"):
        Character([Personality("observed", habit="sings")])
    with pytest.raises(ValueError, match="'never'"):
        Observed("gzip", "never")
