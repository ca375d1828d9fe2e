"""The AI evaluation service of spec 1, through a real broker, ledger and worker."""

import asyncio
import inspect
import json
import logging
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import text

from llm_double import Fault, Kind, Scripted
from stage import House, WorkerProcess, abstracts, wait_until
from stage.written import written_batches
from tamis_cli.embedded.endpoint import MODEL_NAME, LlmServer
from tamis_cli.embedded.model import fetch_model, model_folder
from tamis_producer import AIEvaluationService, Client, get_ai_evaluation_service
from tamis_schemas import (
    EvaluationResult,
    FieldsResult,
    Filter,
    InvalidParameters,
    WaitTimeout,
)

StartWorker = Callable[..., WorkerProcess]
Call = Callable[[AIEvaluationService], Coroutine[Any, Any, object]]

ITEM = {"title": "Cancer treatment study", "abstract": "..."}
FIELDS = {"type": "object", "properties": {"size": {"type": "integer"}}}


@pytest.fixture
def service(house: House) -> Iterator[AIEvaluationService]:
    service = AIEvaluationService(house.fresh().client, timeout=60)
    yield service
    service.close()


@pytest.fixture
def _process(house: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The environment of a process whose broker and ledger are the house's."""
    house.fresh()
    for name, value in house.environment.items():
        monkeypatch.setenv(name, value)
    yield
    get_ai_evaluation_service().close()


def scripted(text: str, **answer: object) -> Scripted:
    return Scripted(text, {"confidence": 0.9} | answer)


def cancel(client: Client) -> None:
    """Cancel every batch of a ledger whose items nobody has begun."""
    with client.engine.begin() as connection:
        connection.execute(text("UPDATE item_states SET state = 'cancelled'"))
        connection.execute(text("UPDATE batches SET state = 'cancelled'"))


@pytest.mark.spec("1.1", "1.57")
@pytest.mark.usefixtures("_process")
async def test_the_testing_section_of_spec_1_holds_word_for_word(house: House) -> None:
    house.double.script(
        answers=[
            scripted("What is the study design?", reasoning="as stated", value="randomized controlled trial"),
            scripted("Classify the study design", reasoning="as stated", value="RCT"),
        ]
    )
    service = get_ai_evaluation_service()

    # Filter
    result: Any = await service.filter(
        item={"title": "Cancer treatment study", "abstract": "..."},
        criteria="Is this about oncology?",
        include_reasoning=True,
    )
    assert isinstance(result.value, bool)
    assert result.reasoning is not None

    # Score (default 0-1 range)
    result = await service.score(
        item={"title": "Cancer treatment study", "abstract": "..."},
        criteria="Rate relevance to cardiovascular research",
        include_reasoning=False,
    )
    assert isinstance(result.value, float)
    assert 0 <= result.value <= 1
    assert result.reasoning is None  # Not requested

    # Score (custom range 1-10 with intervals)
    result = await service.score(
        item={"title": "Cancer treatment study", "abstract": "..."},
        criteria="Rate the methodological quality",
        min_value=1,
        max_value=10,
        interval=0.5,
    )
    assert 1 <= result.value <= 10
    assert result.value % 0.5 == 0  # Respects interval

    # Extract (text)
    result = await service.extract(
        item={"title": "Cancer treatment study", "abstract": "..."},
        instruction="What is the study design?",
        output_type="text",
    )
    assert isinstance(result.value, str)

    # Extract (enum)
    result = await service.extract(
        item={"title": "Cancer treatment study", "abstract": "..."},
        instruction="Classify the study design",
        output_type="enum",
        enum_values=["RCT", "cohort", "case-control", "meta-analysis", "other"],
    )
    assert result.value in ["RCT", "cohort", "case-control", "meta-analysis", "other"]

    # Extract Fields
    result = await service.extract_fields(
        item={"title": "Cancer treatment study", "abstract": "..."},
        schema={
            "type": "object",
            "properties": {
                "study_type": {"type": "string"},
                "sample_size": {"type": "integer"},
                "primary_outcome": {"type": "string"},
            },
        },
        instructions="Extract key study characteristics",
        field_instructions={
            "study_type": "Classify as RCT, cohort, case-control, or meta-analysis",
            "sample_size": "Number of participants enrolled",
            "primary_outcome": "Main outcome measured",
        },
        include_reasoning=True,
    )
    assert "study_type" in result.fields
    assert "sample_size" in result.fields
    assert 0 <= result.confidence <= 1
    assert result.reasoning is not None  # Requested reasoning


@pytest.mark.spec("1.2")
@pytest.mark.usefixtures("_process")
async def test_a_process_has_one_service_which_connects_anew_after_close() -> None:
    service = get_ai_evaluation_service()
    assert get_ai_evaluation_service() is service
    assert (await service.filter(ITEM, "Is it?")).error is None
    service.close()
    assert (await service.filter(ITEM, "Is it?")).error is None


REQUIRED = inspect.Parameter.empty
SIGNATURES: dict[str, dict[str, object]] = {
    "filter": {"item": REQUIRED, "criteria": REQUIRED, "include_reasoning": True},
    "score": {
        "item": REQUIRED,
        "criteria": REQUIRED,
        "min_value": 0,
        "max_value": 1,
        "interval": None,
        "include_reasoning": True,
    },
    "extract": {
        "item": REQUIRED,
        "instruction": REQUIRED,
        "output_type": "text",
        "enum_values": None,
        "include_reasoning": True,
    },
    "extract_fields": {
        "item": REQUIRED,
        "schema": REQUIRED,
        "instructions": REQUIRED,
        "field_instructions": None,
        "include_reasoning": True,
    },
}


@pytest.mark.spec("1.16", "1.17", "1.18", "1.19", "1.20", "1.21", "1.22", "1.23", "1.24", "1.40")
@pytest.mark.parametrize("name", SIGNATURES)
def test_every_method_takes_what_spec_1_says_and_its_batch_form_items_and_50_at_once(name: str) -> None:
    def taken(method: str) -> list[tuple[str, object]]:
        function = getattr(AIEvaluationService, method)
        assert inspect.iscoroutinefunction(function)
        *parameters, fresh = list(inspect.signature(function).parameters.values())[1:]
        assert (fresh.name, fresh.default, fresh.kind) == ("fresh", False, inspect.Parameter.KEYWORD_ONLY)
        assert {parameter.kind for parameter in parameters} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
        return [(parameter.name, parameter.default) for parameter in parameters]

    single = list(SIGNATURES[name].items())
    assert taken(name) == single
    assert taken(f"{name}_batch") == [("items", REQUIRED), *single[1:], ("max_concurrent", 50)]


@pytest.mark.spec("1.18", "1.31", "1.36", "1.58")
async def test_120_items_come_back_in_their_order(house: House, service: AIEvaluationService) -> None:
    house.double.script(
        answers=[
            scripted(f"record number {n}.", reasoning=f"it is {n}", value=n % 3 == 0, confidence=n / 200)
            for n in range(120)
        ]
    )
    results = await service.filter_batch(abstracts(120), "Is this about oncology?")
    assert results == [
        EvaluationResult(value=n % 3 == 0, confidence=n / 200, reasoning=f"it is {n}") for n in range(120)
    ]


@pytest.mark.spec("1.20", "1.22", "1.24", "1.34")
async def test_every_batch_method_returns_a_result_of_its_kind_for_each_item(
    house: House, service: AIEvaluationService
) -> None:
    house.double.script(
        answers=[
            scripted("Rate it", value=7.5),
            scripted("How many took part?", value=None, confidence=0.0),
            scripted("Extract the size", fields={"size": 12}),
        ]
    )
    items = abstracts(3)
    assert (
        await service.score_batch(items, "Rate it", 1, 10, 0.5, include_reasoning=False)
        == [EvaluationResult(value=7.5, confidence=0.9)] * 3
    )
    assert (
        await service.extract_batch(items, "How many took part?", "number", include_reasoning=False)
        == [
            EvaluationResult(value=None, confidence=0.0, error=None)  # not present is a result
        ]
        * 3
    )
    assert (
        await service.extract_fields_batch(items, FIELDS, "Extract the size", include_reasoning=False)
        == [FieldsResult(fields={"size": 12}, confidence=0.9)] * 3
    )


@pytest.mark.spec("1.6")
@pytest.mark.parametrize(
    "call",
    [
        lambda service: service.filter(ITEM, "Is it?", include_reasoning=False),
        lambda service: service.score(ITEM, "Is it?", include_reasoning=False),
        lambda service: service.extract(ITEM, "Is it?", include_reasoning=False),
        lambda service: service.extract_fields(ITEM, FIELDS, "Is it?", include_reasoning=False),
    ],
    ids=list(SIGNATURES),
)
async def test_without_reasoning_none_is_asked_for_and_none_is_given(
    house: House, service: AIEvaluationService, call: Call
) -> None:
    result: Any = await call(service)
    assert (result.reasoning, result.error) == (None, None)
    (asked,) = house.double.calls()
    assert "reasoning" not in json.dumps(asked.response_format)


@pytest.mark.spec("1.25")
async def test_at_most_max_concurrent_items_of_a_batch_are_in_flight(
    house: House, service: AIEvaluationService
) -> None:
    house.double.script(latency=0.4)
    results = await service.filter_batch(abstracts(20), "Is it?", max_concurrent=7)
    assert len(results) == 20
    assert max(call.in_flight for call in house.double.calls()) == 7
    house.double.reset()
    house.double.script(latency=0.01)
    await service.filter_batch(abstracts(4), "Is it one by one?", max_concurrent=1)
    assert [call.in_flight for call in house.double.calls()] == [1, 1, 1, 1]


@pytest.mark.spec("1.16")
async def test_calls_run_side_by_side_without_blocking_the_event_loop(
    house: House, service: AIEvaluationService
) -> None:
    house.double.script(latency=1.0)
    calls = [asyncio.create_task(service.filter({"title": f"T{n}"}, "Is it?")) for n in range(5)]
    await asyncio.to_thread(house.double.wait, in_flight=5)
    assert all(result.error is None for result in await asyncio.gather(*calls))


async def test_calls_of_one_question_share_batches_and_an_item_that_is_none_is_an_error_of_its_own_caller(
    house: House, service: AIEvaluationService
) -> None:
    before = {view.id for view in written_batches(house.client)}
    question = "Does it share a batch?"
    wrong = service.filter({"share": float("nan")}, question)
    calls = [service.filter({"id": str(n), "title": f"T{n}"}, question) for n in range(10)]
    refused, *came = await asyncio.gather(wrong, *calls, return_exceptions=True)
    assert isinstance(refused, InvalidParameters)
    assert [one.error for one in came if isinstance(one, EvaluationResult)] == [None] * 10
    new = [view.id for view in written_batches(house.client) if view.id not in before]
    together = [sorted(result.item_id for result in house.client.batch(batch_id).results()) for batch_id in new]
    assert sorted(together) == [["0"], [str(n) for n in range(1, 10)]]


async def test_calls_of_services_stand_together_by_the_hour_and_not_among_the_batches(
    house: House, service: AIEvaluationService
) -> None:
    client = house.client
    listed, counted = client.batches(), sum(one.calls for one in client.service_traffic())
    house.double.script(faults=[Fault(Kind.REFUSAL, contains="record number 1.")])
    await service.filter_batch(abstracts(3), "Is it shown?")
    assert client.batches() == listed
    (hour, *_) = client.service_traffic()
    assert (hour.service, sum(one.calls for one in client.service_traffic())) == ("evaluation", counted + 3)
    assert (hour.failed >= 1, hour.open, hour.hour.minute) == (True, 0, 0)
    latest = written_batches(client)[-1]
    assert client.batch(latest.id).status().counts.n_items == 3  # by its id, as any other


async def test_a_fresh_call_asks_the_model_and_its_answer_is_what_is_kept(
    house: House, service: AIEvaluationService
) -> None:
    came = []
    for value, fresh in ((True, False), (False, True), (True, False)):
        house.double.script(answers=[scripted("Is it fresh?", reasoning="-", value=value)])
        came.append((await service.filter(ITEM, "Is it fresh?", fresh=fresh)).value)
    assert (came, house.double.count()) == ([True, False, False], 2)


async def test_one_service_serves_several_event_loops(house: House, service: AIEvaluationService) -> None:
    def in_a_loop_of_its_own(n: int) -> EvaluationResult:
        return asyncio.run(service.filter({"title": f"T{n}"}, "Is it?"))

    results = await asyncio.gather(*(asyncio.to_thread(in_a_loop_of_its_own, n) for n in range(2)))
    assert [result.error for result in results] == [None, None]
    assert house.double.count() == 2


@pytest.mark.spec("1.32", "1.35", "1.58")
async def test_a_failed_item_is_an_error_in_its_place_and_never_a_decision(
    house: House, service: AIEvaluationService
) -> None:
    house.double.script(faults=[Fault(Kind.REFUSAL, contains="record number 1.")])
    items = [*abstracts(3), {"id": "nothing-to-read"}]
    refused, empty = (await service.filter_batch(items, "Is it?"))[1::2]
    for result in (refused, empty):
        assert (result.value, result.confidence) == (None, 0.0)
        assert result.error
    fields = await service.extract_fields_batch(items, FIELDS, "Is it?")
    assert [result.fields is None for result in fields] == [False, True, False, True]
    assert [bool(result.error) for result in fields] == [False, True, False, True]


async def test_typed_objects_are_items_too(house: House, service: AIEvaluationService) -> None:
    @dataclass
    class Article:
        title: str
        published: date

    assert (await service.filter(Article("A trial", date(2024, 1, 15)), "Is it?")).error is None
    (call,) = house.double.calls()
    assert "title: A trial\npublished: 2024-01-15" in call.prompt


async def test_the_model_of_the_service_is_the_one_asked(house: House) -> None:
    house.fresh()
    await AIEvaluationService(house.client, model="other-1", timeout=60).filter(ITEM, "Is it?")
    assert [call.model for call in house.double.calls()] == ["other-1"]


WRONG: dict[str, tuple[Call, str]] = {
    "blank criteria": (lambda service: service.filter(ITEM, " "), "criteria"),
    "swapped range": (lambda service: service.score(ITEM, "Rate it", 1, 0), "swap them"),
    "interval that does not fit": (lambda service: service.score(ITEM, "Rate it", 0, 1, 0.3), "interval 0.3"),
    "unknown type": (lambda service: service.extract(ITEM, "What?", "date"), "output_type"),  # type: ignore[arg-type] # the mistake under test
    "enum without values": (lambda service: service.extract(ITEM, "What?", "enum"), "enum_values"),
    "schema of no object": (lambda service: service.extract_fields(ITEM, {"type": "string"}, "What?"), "schema"),
    "unknown field": (lambda service: service.extract_fields(ITEM, FIELDS, "What?", {"sise": "n"}), "mean 'size'"),
    "no items, wrong parameters": (lambda service: service.filter_batch([], ""), "criteria"),
    "no concurrency": (lambda service: service.filter_batch([ITEM], "Is it?", max_concurrent=0), "max_concurrent: 0"),
    "one item for many": (lambda service: service.filter_batch(ITEM, "Is it?"), "items: a dict, not a list"),
    "no items at all": (lambda service: service.filter_batch(None, "Is it?"), "items: a NoneType"),  # type: ignore[arg-type] # the mistake under test
    "item of no kind": (
        lambda service: service.filter_batch([ITEM, "text"], "Is it?"),
        r"No. 2 \(index 1\): a str is not an item",
    ),
    "not a number": (
        lambda service: service.filter({"share": float("nan")}, "Is it?"),
        r"No. 1 \(index 0\): .*not JSON compliant",
    ),
}


@pytest.mark.parametrize(("call", "said"), WRONG.values(), ids=list(WRONG))
async def test_a_wrong_call_is_an_error_and_nothing_is_written(client: Client, call: Call, said: str) -> None:
    with pytest.raises(InvalidParameters, match=said):
        await call(AIEvaluationService(client, timeout=5))
    assert written_batches(client) == []


@pytest.mark.parametrize("cut", [{"shard_size": 0}, {"window": -1}, {"window": True}, {"shard_size": 2.0}], ids=str)
def test_a_batch_is_not_cut_into_shards_or_windows_below_1(client: Client, cut: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameters, match="not a whole number from 1"):
        client.submit(Filter(criteria="Is it?"), [ITEM], **cut)
    assert written_batches(client) == []


async def test_no_items_give_no_results_and_no_batch(client: Client) -> None:
    service = AIEvaluationService(client)
    assert await service.filter_batch([], "Is it?") == []
    assert await service.extract_fields_batch(iter(()), FIELDS, "What?") == []
    assert written_batches(client) == []


async def test_waiting_ends_at_the_timeout_naming_the_batch_which_goes_on(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.WARNING, "tamis_producer"),
        pytest.raises(WaitTimeout, match=r"0 of 2 items done after 0\.2 s; it continues once a worker runs") as caught,
    ):
        await AIEvaluationService(client, timeout=0.2).filter_batch(abstracts(2), "Is it?")
    (view,) = written_batches(client)
    assert view.id in str(caught.value)
    assert not view.state.terminal
    assert [record.getMessage() for record in caplog.records] == [
        f"batch {view.id} waits: no worker is running; start one with `tamis worker`"
    ]


def test_a_cancelled_call_leaves_no_thread_that_waits(client: Client) -> None:
    ended: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(asyncio.wait_for(AIEvaluationService(client).filter(ITEM, "Is it?"), 0.5))
        except TimeoutError as error:
            ended.append(error)

    runner = Thread(target=run, daemon=True)  # asyncio.run returns only when no thread of its own works any more
    runner.start()
    runner.join(20)
    (view,) = written_batches(client)
    cancel(client)  # a thread that should wait after all has its end
    assert ended
    assert not view.state.terminal


async def test_a_cancelled_batch_gives_an_error_for_every_item_without_a_result(client: Client) -> None:
    call = asyncio.create_task(AIEvaluationService(client, timeout=60).filter_batch(abstracts(2), "Is it?"))
    await asyncio.to_thread(wait_until, lambda: written_batches(client), within=20, what="the batch is in the ledger")
    cancel(client)
    assert [(result.value, result.error) for result in await call] == [
        (None, "not evaluated: the item is cancelled")
    ] * 2


async def test_a_wrong_key_gives_every_item_the_reason_after_a_handful_of_calls(
    house: House, service: AIEvaluationService
) -> None:
    house.double.script(api_key="another one")
    results = await service.filter_batch(abstracts(60), "Is it?")
    assert {result.value for result in results} == {None}
    assert {str(result.error)[:37] for result in results} == {"not evaluated: authentication: 401: I"}
    assert house.double.count() < 60  # those in flight at the first refusal, and a handful
    fields = await service.extract_fields(ITEM, FIELDS, "Extract the size")
    assert fields.fields is None
    assert str(fields.error).startswith("not evaluated: authentication: 401")


@pytest.mark.night  # what the small model answers through the whole stack is in the ordinary run: test_stack
@pytest.mark.spec("1.57")
@pytest.mark.timeout(700)  # a bound for the slowest machine, not a measure: it takes seconds on a quiet one
async def test_the_real_small_model_gives_results_of_the_right_shape(
    tmp_path: Path, client: Client, start_worker: StartWorker
) -> None:
    with LlmServer(fetch_model(model_folder()), tmp_path / "llm.log") as llm:
        start_worker(llm_base_url=llm.base_url, model=MODEL_NAME)
        service = AIEvaluationService(client, timeout=600, model=MODEL_NAME)
        filtered, scored = await asyncio.gather(
            service.filter(ITEM, "Is this about oncology?"),
            service.score(ITEM, "Rate the methodological quality", 1, 10, 0.5, include_reasoning=False),
        )
    assert isinstance(filtered.value, bool), filtered.error
    assert filtered.reasoning
    assert isinstance(scored.value, float), scored.error
    assert 1 <= scored.value <= 10
    assert scored.value % 0.5 == 0
    assert scored.reasoning is None
