"""What an endpoint with a prefix cache reads of an inclusion's prompts only once."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from llm_double import Call, Double
from llm_double.asked import serialised
from llm_double.personalities.personality import Personality
from nursery import shared
from stage.shared_data import DATA, needs_real_records
from tamis_review.intake import read_records
from tamis_schemas import Inclusion, Item, SearchCriteria, Usage
from tamis_worker.engine.conversation import CallPolicy, chat_request
from tamis_worker.engine.retry import RetryPolicy
from tamis_worker.llm.chat import ChatAnswer, ChatRequest
from tamis_worker.llm.llm import LlmClient
from tamis_worker.llm.prompt_cache import KEY, OPENAI_MARK, OPTIONS, Breakpoint
from tamis_worker.operations import program_of
from tamis_worker.operations.prompt import source_data

CRITERIA = SearchCriteria(
    research_question="Which decision support systems exist for radiation oncology?",
    inclusion_criteria=[f"The record meets condition {n}, which takes some ten words to say" for n in range(10)],
    exclusion_criteria=[f"The record is of kind {n}, which nobody wants to read about" for n in range(5)],
)
PATIENCE = CallPolicy(RetryPolicy(max_calls=5, deadline=900), temperature=0.0, max_output_tokens=1024)


@pytest.fixture(scope="module")
def double() -> Iterator[Double]:
    with Double.start(nursery=shared()) as running:
        yield running


@pytest.fixture
def records() -> list[dict[str, Any]]:
    return read_records(DATA / "screening" / "cdss_ro" / "records.csv")[:60]


def requests(items: Sequence[Item], how: Breakpoint | None = None) -> list[ChatRequest]:
    operation = Inclusion(criteria=CRITERIA)
    questions = [next(program_of(operation, item))[0] for item in items]
    return [chat_request(question, "m", replace(PATIENCE, cache_breakpoint=how)) for question in questions]


def ask(double: Double, asked: Sequence[ChatRequest]) -> list[Usage]:
    """What the endpoint counted of each call, one after the other."""

    async def run() -> list[Usage]:
        llm = LlmClient(double.base_url, "", timeout=60, connections=4)
        try:
            replies = [await llm.ask(one) for one in asked]
        finally:
            await llm.close()
        assert all(isinstance(reply, ChatAnswer) for reply in replies)
        return [reply.usage for reply in replies]

    return asyncio.run(run())


def static_tokens(call: Call, record: Item, *, with_schema: bool) -> int:
    """Whatever was sent that is not the record, wherever it stands; four characters a token, as the double counts."""
    schema = serialised(call.schema) if with_schema and call.schema is not None else ""
    words = sum(len(message["content"]) for message in call.messages) - len(source_data(record))
    return (len(schema) + words) // 4


@needs_real_records
@pytest.mark.parametrize(
    "cache",
    [
        {"block": 128, "minimum": 1024, "schema": True},
        {"block": 64, "minimum": 64, "schema": True},
        {"block": 16, "minimum": 16, "schema": False},
    ],
    ids=lambda cache: f"blocks of {cache['block']}",
)
def test_of_what_prompts_with_15_criteria_have_in_common_four_fifths_and_more_are_read_from_the_cache(
    double: Double, records: list[dict[str, Any]], cache: dict[str, Any]
) -> None:
    double.reset()
    double.script(personalities=[])
    double.script(personalities=[Personality("prefix_cache", **cache)])
    usages = ask(double, requests(records))
    static = static_tokens(double.calls()[-1], records[-1], with_schema=cache["schema"])
    assert usages[0].cached_tokens == 0
    assert sum(usage.cached_tokens for usage in usages) >= 0.8 * static * len(records)


@needs_real_records
def test_where_writing_costs_a_mark_is_written_once_and_read_by_all_others(
    double: Double, records: list[dict[str, Any]]
) -> None:
    double.reset()
    double.script(personalities=[])
    double.script(personalities=[Personality("prefix_cache", breakpoints=True, writes=True)])
    asked = requests(records, Breakpoint.OPENAI)
    ask(double, asked)
    charge = double.account().of()
    once = charge.cache_write_tokens
    assert once >= 1024
    assert charge.cached_tokens == once * (len(records) - 1)
    (call, *_) = double.calls()
    assert call.messages[0]["content"][0][OPENAI_MARK] == {"mode": "explicit"}
    assert call.parameters[OPTIONS] == {"mode": "explicit"}


def test_all_records_go_to_one_cache_and_an_endpoint_that_knows_no_key_is_asked_without_it(double: Double) -> None:
    items = [{"title": f"Title {n}"} for n in range(4)]
    double.reset()
    ask(double, requests(items))
    assert len({call.parameters[KEY] for call in double.calls()}) == 1
    double.reset()
    double.script(refuses=[KEY])
    ask(double, requests(items))
    told = [(call.status, KEY in call.parameters) for call in double.calls()]
    assert told == [(400, True), (200, False), (200, False), (200, False), (200, False)]
