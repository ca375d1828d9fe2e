"""What is sent so that an endpoint reads the common beginning of many prompts once."""

from dataclasses import replace
from typing import Any

import pytest

from tamis_schemas import Inclusion, Item, SearchCriteria
from tamis_worker.engine.cache import fingerprint
from tamis_worker.engine.conversation import CallPolicy, chat_request
from tamis_worker.engine.retry import RetryPolicy
from tamis_worker.llm.chat import ChatRequest, Message
from tamis_worker.llm.dialect import Dialect, ParameterRefusal, Rung, after_refusal, body
from tamis_worker.llm.prompt_cache import (
    ANTHROPIC_MARK,
    FEWEST_CHARACTERS,
    KEY,
    KEY_LENGTH,
    MINIMUM,
    OPENAI_MARK,
    OPTIONS,
    Breakpoint,
    cache_options,
)
from tamis_worker.operations import program_of

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
SHAPE = len('{"type": "object", "properties": {}}')
ENOUGH = MINIMUM * FEWEST_CHARACTERS - SHAPE  # characters of a system message, beside that schema
LONG = Message("system", "x" * ENOUGH)
SHORT = Message("system", "x" * (ENOUGH - 1))
RECORD = Message("user", "## Source Data\ntitle: Mice")

PATIENCE = CallPolicy(RetryPolicy(max_calls=5, deadline=900), temperature=0.0, max_output_tokens=1024)


def key(model: str = "m", *messages: Message) -> str:
    made: str = cache_options(model, messages or (LONG, RECORD), SCHEMA, None)[KEY]
    return made


def request(breakpoint_: Breakpoint | None, *messages: Message) -> ChatRequest:
    asked = messages or (LONG, RECORD)
    return ChatRequest("m", asked, "filter", SCHEMA, 0.0, 100, cache_options("m", asked, SCHEMA, breakpoint_))


def test_the_records_of_a_batch_have_one_key_and_another_beginning_or_model_has_another() -> None:
    assert key() == key("m", LONG, Message("user", "## Source Data\ntitle: Rats"))
    others = {
        key(),
        key("n"),
        key("m", replace(LONG, content=LONG.content + "x"), RECORD),
    }
    assert len(others) == 3
    assert all(len(one) == KEY_LENGTH <= 64 for one in others)


@pytest.mark.parametrize("messages", [(SHORT, RECORD), (RECORD, LONG), (RECORD,), ()])
@pytest.mark.parametrize("breakpoint_", [None, Breakpoint.ANTHROPIC])
def test_nothing_is_sent_where_the_beginning_cannot_reach_the_minimum(
    messages: tuple[Message, ...], breakpoint_: Breakpoint | None
) -> None:
    assert cache_options("m", messages, SCHEMA, breakpoint_) == {}


def test_a_long_schema_is_part_of_the_beginning() -> None:
    schema = {"type": "object", "properties": {f"field {n}": {"type": "string"} for n in range(200)}}
    assert KEY in cache_options("m", (Message("system", "You extract."), RECORD), schema, None)


def test_where_writing_costs_nothing_is_written_that_is_not_marked_be_the_beginning_long_or_short() -> None:
    short = body(request(Breakpoint.OPENAI, SHORT, RECORD), Dialect())
    assert short[OPTIONS] == {"mode": "explicit"}
    assert KEY not in short
    assert short["messages"][0] == {"role": "system", "content": SHORT.content}


@pytest.mark.parametrize(
    ("breakpoint_", "mark"),
    [
        (Breakpoint.OPENAI, {OPENAI_MARK: {"mode": "explicit"}}),
        (Breakpoint.ANTHROPIC, {ANTHROPIC_MARK: {"type": "ephemeral"}}),
    ],
)
@pytest.mark.parametrize("rung", Rung)
def test_a_mark_stands_at_the_end_of_the_system_message_and_nowhere_else(
    breakpoint_: Breakpoint, mark: dict[str, Any], rung: Rung
) -> None:
    written = body(request(breakpoint_), Dialect(rung))
    plain = body(request(None), Dialect(rung))
    system, user = written["messages"]
    text = plain["messages"][0]["content"]  # with the schema where a rung writes it there
    assert system == {"role": "system", "content": [{"type": "text", "text": text, **mark}]}
    assert user == plain["messages"][1]
    assert not {OPENAI_MARK, ANTHROPIC_MARK} & written.keys()
    assert written[KEY] == plain[KEY]
    assert written.get(OPTIONS) == ({"mode": "explicit"} if breakpoint_ is Breakpoint.OPENAI else None)


@pytest.mark.parametrize("rung", Rung)
def test_without_a_breakpoint_the_messages_are_texts_as_ever(rung: Rung) -> None:
    written = body(request(None), Dialect(rung))
    assert all(isinstance(message["content"], str) for message in written["messages"])
    assert not {OPTIONS, OPENAI_MARK, ANTHROPIC_MARK} & written.keys()


# As Groq, Cerebras, NVIDIA and Azure word it, and servers whose validation is pydantic's.
REFUSALS = [
    (ParameterRefusal(400, "property 'prompt_cache_key' is unsupported"), KEY),
    (
        ParameterRefusal(
            422, "body.prompt_cache_key: property 'body.prompt_cache_key' is unsupported", "validation_error"
        ),
        KEY,
    ),
    (ParameterRefusal(400, "Validation: Unsupported parameter(s): `prompt_cache_key`"), KEY),
    (ParameterRefusal(400, "Unrecognized request argument supplied: prompt_cache_key"), KEY),
    (ParameterRefusal(422, "{'loc': ['body', 'prompt_cache_key'], 'msg': 'Extra inputs are not permitted'}"), KEY),
    (ParameterRefusal(400, "messages.0.content.0.text.cache_control: Extra inputs are not permitted"), ANTHROPIC_MARK),
    (
        ParameterRefusal(400, "Unknown parameter: 'messages[0].content[0].prompt_cache_breakpoint'.", code="x"),
        OPENAI_MARK,
    ),
    (ParameterRefusal(400, "Unsupported parameter(s): prompt_cache_options"), OPTIONS),
]


@pytest.mark.parametrize(("refusal", "name"), REFUSALS)
def test_what_an_endpoint_refuses_is_left_out_and_nothing_else(refusal: ParameterRefusal, name: str) -> None:
    breakpoint_ = Breakpoint.ANTHROPIC if name == ANTHROPIC_MARK else Breakpoint.OPENAI
    asked = request(breakpoint_)
    following = after_refusal(Dialect(), refusal, ("temperature", *asked.options))
    assert following == Dialect(left_out=frozenset({name}))
    left = replace(asked, options={option: value for option, value in asked.options.items() if option != name})
    assert body(asked, following) == body(left, Dialect())


def test_a_setting_of_the_cache_changes_no_key_of_an_answer() -> None:
    criteria = SearchCriteria(research_question="Does it work?", inclusion_criteria=["x" * 200] * 15)
    item: Item = {"title": "Mice"}
    (question,) = next(program_of(Inclusion(criteria=criteria), item))
    made = [
        chat_request(question, "m", replace(PATIENCE, logprobs=False, cache_breakpoint=how))
        for how in (None, Breakpoint.OPENAI, Breakpoint.ANTHROPIC)
    ]
    assert [len(one.options) for one in made] == [1, 3, 2]
    assert len({fingerprint(one) for one in made}) == 1
