"""A real worker, a real broker, a real ledger, and the LLM double behind the real openai client."""

import dataclasses
import json
from collections.abc import Callable

import pytest
import redis

from llm_double import Double, Fault, Kind, Scripted
from stage import WorkerProcess, abstracts
from tamis_producer import Client
from tamis_schemas import BatchStatus, ErrorKind, Filter, Inclusion, InclusionStatus, SearchCriteria, wire

ONCOLOGY = Filter(criteria="Is this about oncology?")
StartWorker = Callable[..., WorkerProcess]


def test_every_item_of_a_batch_gets_its_own_result_in_order(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(
        answers=[
            Scripted(f"record number {n}.", {"reasoning": f"it is {n}", "value": n % 3 == 0, "confidence": 0.9})
            for n in range(120)
        ]
    )
    start_worker()
    batch = client.submit(ONCOLOGY, abstracts(120))
    counts = batch.wait(timeout=60)
    assert counts.decided == 120
    assert counts.identity_holds
    for n, row in enumerate(batch.results()):
        assert row.result is not None
        assert row.result.value is (n % 3 == 0)
        assert row.result.reasoning == f"it is {n}"
        assert row.provenance is not None
        assert row.provenance.calls == 1
    assert double.count() == 120
    summary = batch.summary()
    assert summary is not None
    assert summary.values == {"false": 80, "true": 40}
    assert (summary.pass_rate.count, summary.pass_rate.total) == (40, 120)
    assert summary.confidence.bands == {"explicit": 120, "strong": 0, "weak": 0, "insufficient": 0}
    assert summary.calls == 120
    assert batch.status().state is BatchStatus.COMPLETED


def test_an_inclusion_names_the_criteria_that_decided(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    criteria = SearchCriteria(
        research_question="Does home exercise help?",
        inclusion_criteria=["adults", "randomised"],
        exclusion_criteria=["animals"],
    )

    def answer(status: str, *verdicts: str) -> dict[str, object]:
        labelled = dict(zip(("I1", "I2", "E1"), verdicts, strict=True))
        return {"rationale": "because", "verdicts": labelled, "status": status, "confidence": 0.8}

    double.script(
        answers=[
            Scripted("record number 0.", answer("include", "met", "met", "not met")),
            Scripted("record number 1.", answer("exclude", "not met", "met", "met")),
            Scripted("record number 2.", answer("uncertain", "unclear", "met", "not met")),
            Scripted("record number 3.", answer("exclude", "met", "met", "not met")),
        ]
    )
    start_worker()
    batch = client.submit(Inclusion(criteria=criteria), abstracts(4))
    batch.wait(timeout=60)
    decisions = [row.decision for row in batch.results()]
    assert [d.status.value for d in decisions if d] == ["include", "exclude", "uncertain", "uncertain"]
    assert [d.criteria for d in decisions if d] == [["adults", "randomised"], ["adults", "animals"], ["adults"], []]
    contradicted = decisions[3]
    assert contradicted is not None
    assert contradicted.model_status is InclusionStatus.EXCLUDE


@pytest.mark.parametrize(
    ("fault", "kind", "calls"),
    [
        (Fault(Kind.REFUSAL), ErrorKind.REFUSED, 1),
        (Fault(Kind.WRONG_SCHEMA), ErrorKind.INVALID, 2),
        (Fault(Kind.MALFORMED), ErrorKind.MALFORMED, 2),
        (Fault(Kind.TRUNCATED), ErrorKind.TRUNCATED, 2),
        (Fault(Kind.SERVER_ERROR), ErrorKind.SERVER, 3),
        (Fault(Kind.UNAUTHORIZED), ErrorKind.AUTHENTICATION, 1),
    ],
    ids=lambda value: str(value.kind.value) if isinstance(value, Fault) else None,
)
def test_a_failing_call_ends_as_an_error_of_its_kind_and_never_as_a_decision(
    client: Client, start_worker: StartWorker, double: Double, fault: Fault, kind: ErrorKind, calls: int
) -> None:
    double.script(faults=[dataclasses.replace(fault, contains="record number 1.")])
    start_worker(max_calls="3")
    batch = client.submit(ONCOLOGY, abstracts(3))
    counts = batch.wait(timeout=60)
    assert (counts.decided, counts.failed) == (2, 1)
    failed = list(batch.results())[1]
    assert failed.error_kind is kind
    assert failed.result is not None
    assert failed.result.value is None
    assert failed.result.error
    assert failed.provenance is not None
    assert failed.provenance.calls == calls
    summary = batch.summary()
    assert summary is not None
    assert summary.errors == {kind: 1}
    assert summary.pass_rate.total == 2
    assert double.count() == 2 + calls


def test_a_repaired_answer_is_a_decision(client: Client, start_worker: StartWorker, double: Double) -> None:
    double.script(faults=[Fault(Kind.WRONG_SCHEMA, limit=1)])
    start_worker()
    batch = client.submit(ONCOLOGY, abstracts(1))
    assert batch.wait(timeout=60).decided == 1
    row = next(batch.results())
    assert row.provenance is not None
    assert row.provenance.calls == 2
    repair = double.calls()[1]
    assert [message["role"] for message in repair.messages] == ["system", "user", "assistant", "user"]
    assert "cannot be used" in repair.prompt


def test_an_item_without_content_is_not_sent(client: Client, start_worker: StartWorker, double: Double) -> None:
    start_worker()
    batch = client.submit(ONCOLOGY, [{"id": "empty", "title": " ", "abstract": None, "_label": "1"}])
    assert batch.wait(timeout=60).failed == 1
    assert next(batch.results()).error_kind is ErrorKind.NO_CONTENT
    assert double.count() == 0


def test_the_model_of_a_batch_goes_before_the_workers_own(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    start_worker()
    client.submit(ONCOLOGY, abstracts(1), model="other-1").wait(timeout=60)
    client.submit(ONCOLOGY, abstracts(1)).wait(timeout=60)
    assert [call.model for call in double.calls()] == ["other-1", "double-1"]


def test_a_rate_limit_costs_no_attempt_and_fails_nothing(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(faults=[Fault(Kind.RATE_LIMITED, limit=5, retry_after_ms=200)])
    start_worker(max_calls="1")
    batch = client.submit(ONCOLOGY, abstracts(10))
    assert batch.wait(timeout=60).decided == 10


def test_a_message_delivered_twice_is_one_call_and_one_row(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=0.3)
    batch = client.submit(ONCOLOGY, abstracts(20))
    with redis.Redis.from_url(client.settings.broker) as broker:
        queue = f"{wire.KEY_PREFIX}{wire.QUEUE}"
        for message in broker.lrange(queue, 0, -1):
            broker.lpush(queue, message)
        assert broker.llen(queue) == 40
    start_worker()
    start_worker()
    assert batch.wait(timeout=60).decided == 20
    assert double.count() == 20


def test_neither_logs_nor_redis_nor_the_ledger_hold_the_key(
    client: Client, start_worker: StartWorker, double: Double, environment: dict[str, str]
) -> None:
    double.script(faults=[Fault(Kind.UNAUTHORIZED, limit=2)])
    worker = start_worker()
    batch = client.submit(ONCOLOGY, abstracts(4))
    batch.wait(timeout=60)
    key = environment["TAMIS_LLM_API_KEY"]
    rows = json.dumps([row.model_dump(mode="json") for row in batch.results()])
    assert key not in worker.text()
    assert key not in rows
    assert "Title of record" not in worker.text()
