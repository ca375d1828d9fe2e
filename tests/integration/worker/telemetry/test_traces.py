"""Traces of real batches: a client and a worker, each in its process, export to one receiver."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from opentelemetry import trace

from llm_double import Double, Fault, Kind
from stage import WorkerProcess, abstracts, tamis, wait_until
from stage.trace_receiver import Received, Receiver, exported_here, receiving
from tamis_producer import Client
from tamis_review import submit_review
from tamis_schemas import Extract, Filter, ReviewPlan, ReviewStage

ASKED = Filter(criteria="Is this about oncology?")
CHUNKS = [
    {
        "id": "c1",
        "text": "Participants received 20 mg of the drug each day.",
        "score": 0.9,
        "page": 3,
        "retrieval_method": "both",
    },
    {
        "id": "c2",
        "text": "The dose was 20 mg once daily, in two arms.",
        "score": 0.7,
        "page": 4,
        "retrieval_method": "bm25",
    },
]
PRODUCER, CLIENT, CONSUMER = 4, 3, 5  # kinds of spans, as OTLP numbers them
SECRETS = ("sk-test-of-the-double", "Record number", "record number", "oncology")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running, exported_here(running):
        yield running


@pytest.fixture
def environment(environment: dict[str, str], receiver: Receiver) -> dict[str, str]:
    return environment | {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "TAMIS_SWEEP_INTERVAL": "0.5",
        "TAMIS_LEASE_SECONDS": "2",
    }


def one_tree(receiver: Receiver, items: int, *, summaries: int = 1) -> Received:
    """The root of the only trace, once everything of a batch was received."""

    def complete() -> bool:
        return len(receiver.named("tamis.filter")) >= items and len(receiver.named("tamis.summary")) >= summaries

    wait_until(complete, within=20, what=f"received: {sorted(span.name for span in receiver.spans)}")
    aggregates = {span.parent for span in receiver.named("tamis.summary")}
    wait_until(
        lambda: aggregates <= {span.id for span in receiver.spans}, within=10, what="the summary's parent is received"
    )
    (root,) = receiver.roots()
    assert {span.trace for span in receiver.spans} == {root.trace}
    return root


def test_a_batch_is_one_tree_from_its_submission_to_its_summary(
    client: Client, start_worker: Callable[..., WorkerProcess], receiver: Receiver
) -> None:
    start_worker()
    batch = client.submit(ASKED, abstracts(7), shard_size=3, window=1)  # each aggregate dispatches the next shard
    batch.wait(timeout=60)
    root = one_tree(receiver, 7)
    assert (root.name, root.kind) == ("tamis.submit", PRODUCER)
    assert root.attributes == {"tamis.operation": "filter", "tamis.items": 7, "tamis.batch_id": str(batch.id)}
    assert root.resource["service.name"] == "a program"

    items = receiver.named("tamis.filter")
    assert {(span.parent, span.kind) for span in items} == {(root.id, CONSUMER)}
    assert [span.attributes["tamis.item_index"] for span in items] != []
    assert {span.attributes["tamis.item_index"] for span in items} == set(range(7))
    assert all(span.attributes["tamis.round"] == 1 for span in items)
    assert {span.attributes["tamis.outcome"] for span in items} == {"decided"}
    assert {span.resource["service.name"] for span in items} == {"tamis-worker"}
    for item in items:
        (call,) = receiver.children(item)
        assert (call.name, call.kind) == ("chat double-1", CLIENT)
        about = call.attributes
        assert about["gen_ai.operation.name"] == "chat"
        assert about["gen_ai.provider.name"] == "openai"
        assert about["gen_ai.request.model"] == "double-1"
        assert about["gen_ai.request.temperature"] == 0.0
        assert about["gen_ai.request.max_tokens"] == 1024
        assert about["gen_ai.response.finish_reasons"] == ["stop"]
        assert about["gen_ai.usage.input_tokens"] > 0
        assert about["gen_ai.usage.output_tokens"] > 0
        assert about["server.address"] == "127.0.0.1"
        assert about["server.port"] > 0
        assert item.began <= call.began <= call.ended <= item.ended

    aggregates = receiver.named("tamis.aggregate")
    assert sorted(span.attributes["tamis.shard"] for span in aggregates) == [0, 1, 2]
    assert {span.parent for span in aggregates} == {root.id}
    (summary,) = receiver.named("tamis.summary")
    assert summary.parent in {span.id for span in aggregates}


def test_no_content_and_no_secret_is_exported(
    client: Client, start_worker: Callable[..., WorkerProcess], receiver: Receiver, double: Double
) -> None:
    said = "Refused: {authorization} about oncology"
    double.script(faults=[Fault(Kind.BAD_REQUEST, contains="number 1.", message=said)])
    start_worker()
    client.submit(ASKED, abstracts(3)).wait(timeout=60)
    one_tree(receiver, 3)
    (failed,) = [span for span in receiver.named("tamis.filter") if span.failed]
    assert failed.attributes["error.type"] == "invalid_request"
    for call in receiver.children(failed):
        assert call.failed
        assert call.attributes["error.type"] == "invalid_request"
        assert call.attributes["http.response.status_code"] == 400
    assert len(receiver.children(failed)) == 2  # with the optional parameters, and without
    exported = b"".join(receiver.raw)
    assert b"tamis.submit" in exported
    for secret in SECRETS:
        assert secret.encode() not in exported, secret


@pytest.mark.night
def test_a_submission_inside_a_span_of_the_program_belongs_to_it(
    client: Client, start_worker: Callable[..., WorkerProcess], receiver: Receiver
) -> None:
    start_worker()
    with trace.get_tracer("the program").start_as_current_span("nightly"):
        client.submit(ASKED, abstracts(1)).wait(timeout=60)
    root = one_tree(receiver, 1)
    assert root.name == "nightly"
    assert [span.name for span in receiver.children(root)] == ["tamis.submit"]


@pytest.mark.night
def test_the_trace_outlives_the_loss_of_every_message(
    client: Client, start_worker: Callable[..., WorkerProcess], receiver: Receiver, broker_url: str
) -> None:
    client.submit(ASKED, abstracts(4), shard_size=2)
    with redis.Redis.from_url(broker_url) as broker:
        broker.flushall()
    start_worker()
    root = one_tree(receiver, 4)  # republished by the reconciler, which closes the shards as well
    assert {span.parent for span in receiver.named("tamis.filter")} == {root.id}
    (summary,) = receiver.named("tamis.summary")
    (parent,) = [span for span in receiver.spans if span.id == summary.parent]
    assert parent.name == "tamis.aggregate"


@pytest.mark.night
def test_a_later_round_continues_the_trace(
    client: Client, start_worker: Callable[..., WorkerProcess], receiver: Receiver, double: Double
) -> None:
    double.script(faults=[Fault(Kind.BAD_REQUEST, contains="number 1.", limit=2)])
    start_worker()
    batch = client.submit(ASKED, abstracts(2))
    batch.wait(timeout=60)
    batch.retry()
    batch.wait(timeout=60)
    root = one_tree(receiver, 3, summaries=2)
    assert sorted(span.attributes["tamis.round"] for span in receiver.named("tamis.filter")) == [1, 1, 2]
    assert root.name == "tamis.submit"


@pytest.mark.night
def test_a_repaired_answer_and_a_repeated_call_are_calls_of_one_item(
    client: Client, start_worker: Callable[..., WorkerProcess], receiver: Receiver, double: Double
) -> None:
    double.script(faults=[Fault(Kind.SERVER_ERROR, limit=1)])
    start_worker()
    client.submit(ASKED, abstracts(1)).wait(timeout=60)
    one_tree(receiver, 1)
    (item,) = receiver.named("tamis.filter")
    calls = sorted(receiver.children(item), key=lambda span: span.began)
    assert [(call.failed, call.attributes.get("error.type")) for call in calls] == [(True, "server"), (False, None)]
    assert not item.failed


@pytest.mark.night
def test_the_command_line_begins_a_trace_too(
    environment: dict[str, str], start_worker: Callable[..., WorkerProcess], receiver: Receiver, tmp_path: Path
) -> None:
    start_worker()
    (tmp_path / "records.csv").write_text("title,abstract\nOne,About oncology\nTwo,About ecology\n")
    asked = {**os.environ, **environment}
    done = tamis("filter", "records.csv", "--criteria", "Is it a trial?", env=asked, cwd=tmp_path)
    assert done.code == 0, done.err
    root = one_tree(receiver, 2)
    assert (root.name, root.resource["service.name"]) == ("tamis.submit", "tamis")


@pytest.mark.night
def test_the_stages_of_a_review_are_one_trace(
    client: Client, start_worker: Callable[..., WorkerProcess], receiver: Receiver
) -> None:
    start_worker()
    stages = (ReviewStage(operation=ASKED), ReviewStage(operation=Extract(instruction="the dose")))
    items = [{"id": f"r{n}", "title": f"Record {n}"} for n in range(20)]
    submit_review(client, ReviewPlan(stages=stages), items, label="two stages").wait(timeout=60)
    root = one_tree(receiver, 20, summaries=2)
    assert root.attributes["tamis.review_id"]
    assert {span.parent for span in receiver.named("tamis.extract")} == {root.id}


@pytest.mark.night
def test_what_is_answered_from_the_cache_has_no_call(
    client: Client, start_worker: Callable[..., WorkerProcess], receiver: Receiver
) -> None:
    start_worker()
    client.submit(ASKED, abstracts(1)).wait(timeout=60)
    client.submit(ASKED, abstracts(1)).wait(timeout=60)
    wait_until(lambda: len(receiver.named("tamis.summary")) == 2, within=20, what="both batches are received")
    assert len(receiver.named("chat double-1")) == 1
    assert len(receiver.named("tamis.filter")) == 2
    assert len({span.trace for span in receiver.spans}) == 2


@pytest.mark.spec("4.30")
def test_each_decision_and_failure_is_an_event_of_its_items_span(
    client: Client, start_worker: Callable[..., WorkerProcess], receiver: Receiver, double: Double
) -> None:
    double.script(faults=[Fault(Kind.BAD_REQUEST, contains="number 1.")])
    start_worker()
    batch = client.submit(ASKED, abstracts(3))
    batch.wait(timeout=60)
    one_tree(receiver, 3)
    results = {row.index: row for row in batch.results()}
    for span in receiver.named("tamis.filter"):
        (event,) = span.events
        row = results[span.attributes["tamis.item_index"]]
        assert event.name == "gen_ai.evaluation.result"
        assert span.began <= event.at <= span.ended
        if row.error_kind is not None:
            assert event.attributes == {"gen_ai.evaluation.name": "filter", "error.type": "invalid_request"}
            continue
        (call,) = receiver.children(span)
        assert row.result is not None
        assert event.attributes == {
            "gen_ai.evaluation.name": "filter",
            "gen_ai.evaluation.score.value": row.result.confidence,
            "gen_ai.evaluation.score.label": str(row.value).lower(),
            "gen_ai.response.id": call.attributes["gen_ai.response.id"],
        }


@pytest.mark.spec("4.30")
def test_each_evaluation_is_an_event_of_the_call_whose_answer_it_rates(
    client: Client, start_worker: Callable[..., WorkerProcess], receiver: Receiver
) -> None:
    start_worker(recall_threshold="1.0")  # recall is always in doubt, and asked about in a call of its own
    item: dict[str, Any] = {"id": "r1", "title": "A trial", "chunks": CHUNKS, "retrieval": {"bm25_limit": 2}}
    batch = client.submit(Extract(instruction="the dose"), [item])
    batch.wait(timeout=60)
    (row,) = batch.results()
    wait_until(lambda: receiver.named("tamis.summary"), within=20, what="the summary is received")
    wait_until(lambda: receiver.named("tamis.aggregate"), within=20, what="the aggregate is received")
    receiver.roots()
    (of_item,) = receiver.named("tamis.extract")
    extraction, recall = sorted(receiver.children(of_item), key=lambda span: span.began)
    told = [event.attributes for event in extraction.events]
    with_value = [one for one in row.evaluations if one.value is not None]
    assert len(with_value) >= 5
    assert {one["gen_ai.evaluation.name"]: _value(one) for one in told} == {one.label: one.value for one in with_value}
    assert len(told) == len(with_value)
    assert {event.name for event in extraction.events} == {"gen_ai.evaluation.result"}
    assert {event.at for event in extraction.events} == {extraction.ended}
    assert extraction.ended <= recall.began
    assert recall.events == ()
    assert [event.attributes["gen_ai.evaluation.name"] for event in of_item.events] == ["extract"]


@pytest.mark.night
@pytest.mark.spec("4.30")
def test_of_an_answer_from_the_cache_the_item_has_the_evaluations(
    client: Client, start_worker: Callable[..., WorkerProcess], receiver: Receiver
) -> None:
    start_worker()
    item: dict[str, Any] = {"id": "r1", "title": "A trial", "chunks": CHUNKS}
    for _ in range(2):
        client.submit(Extract(instruction="the dose"), [item]).wait(timeout=60)
    wait_until(lambda: len(receiver.named("tamis.summary")) == 2, within=20, what="both batches are received")
    asked, cached = sorted(receiver.named("tamis.extract"), key=lambda span: span.began)
    assert len(asked.events) == 1  # the decision
    assert {event.name for event in cached.events} == {"gen_ai.evaluation.result"}
    assert len(cached.events) == 5  # four metrics and the decision
    assert receiver.children(cached) == []


def _value(attributes: dict[str, Any]) -> float | str:
    names = [f"gen_ai.evaluation.score.{kind}" for kind in ("value", "label")]
    (found,) = [attributes[name] for name in names if name in attributes]
    return found
