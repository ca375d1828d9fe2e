"""A real worker, a real broker, a real ledger, and the LLM double behind the real openai client."""

import dataclasses
import json

import pytest

from llm_double import Fault, Kind, Scripted
from stage import House, abstracts
from tamis_schemas import (
    BatchPaused,
    BatchStatus,
    ErrorKind,
    Filter,
    Inclusion,
    InclusionStatus,
    SearchCriteria,
)

ONCOLOGY = Filter(criteria="Is this about oncology?")


@pytest.mark.spec("1.3")
def test_every_item_of_a_batch_gets_its_own_result_in_order(house: House) -> None:
    client, double = house.client, house.fresh().double
    double.script(
        answers=[
            Scripted(f"record number {n}.", {"reasoning": f"it is {n}", "value": n % 3 == 0, "confidence": 0.9})
            for n in range(120)
        ]
    )
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


def test_an_inclusion_names_the_criteria_that_decided(house: House) -> None:
    client, double = house.client, house.fresh().double
    criteria = SearchCriteria(
        research_question="Does home exercise help?",
        inclusion_criteria=["adults", "randomised"],
        exclusion_criteria=["animals"],
    )

    def answer(status: str, *verdicts: str, quote: str | None = None) -> dict[str, object]:
        quoted = [{"quote": quote, "verdict": verdict} for verdict in verdicts]
        labelled = dict(zip(("I1", "I2", "E1"), quoted, strict=True))
        return {"rationale": "because", "verdicts": labelled, "status": status, "confidence": 0.8}

    double.script(
        answers=[
            Scripted("record number 0.", answer("include", "met", "met", "not met")),
            Scripted("record number 1.", answer("exclude", "not met", "met", "met", quote="record number 1")),
            Scripted("record number 2.", answer("uncertain", "unclear", "met", "not met")),
            Scripted("record number 3.", answer("exclude", "met", "met", "not met")),
            Scripted("record number 4.", answer("exclude", "not met", "met", "not met", quote="record number 8")),
        ]
    )
    batch = client.submit(Inclusion(criteria=criteria), abstracts(5))
    batch.wait(timeout=60)
    decisions = [row.decision for row in batch.results()]
    assert [d.status.value for d in decisions if d] == ["include", "exclude", *["uncertain"] * 3]
    deciding = [["adults", "randomised"], ["adults", "animals"], ["adults"], [], ["adults"]]
    assert [d.criteria for d in decisions if d] == deciding
    assert [d.model_status for d in decisions if d] == [None, None, None, *[InclusionStatus.EXCLUDE] * 2]
    reasons = [None, None, None, "its verdicts contradict it", "no verified quote"]
    assert [d.uncertain_reason for d in decisions if d] == reasons
    summary = batch.summary()
    assert summary is not None
    assert summary.unverified == 1


@pytest.mark.spec("1.35")
@pytest.mark.parametrize(
    ("fault", "kind", "calls"),
    [
        (Fault(Kind.REFUSAL), ErrorKind.REFUSED, 1),
        (Fault(Kind.WRONG_SCHEMA), ErrorKind.INVALID, 2),
        (Fault(Kind.MALFORMED), ErrorKind.MALFORMED, 2),
        (Fault(Kind.TRUNCATED), ErrorKind.TRUNCATED, 2),
        (Fault(Kind.SERVER_ERROR), ErrorKind.SERVER, 4),  # a probe shows that the endpoint answers
        (Fault(Kind.FORBIDDEN), ErrorKind.PERMISSION, 1),
    ],
    ids=lambda value: str(value.kind.value) if isinstance(value, Fault) else None,
)
def test_a_failing_call_ends_as_an_error_of_its_kind_and_never_as_a_decision(
    house: House, fault: Fault, kind: ErrorKind, calls: int
) -> None:
    client, double = house.client, house.fresh().double
    double.script(faults=[dataclasses.replace(fault, contains="record number 1.")])
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


def test_a_repaired_answer_is_a_decision(house: House) -> None:
    client, double = house.client, house.fresh().double
    double.script(faults=[Fault(Kind.WRONG_SCHEMA, limit=1)])
    batch = client.submit(ONCOLOGY, abstracts(1))
    assert batch.wait(timeout=60).decided == 1
    row = next(batch.results())
    assert row.provenance is not None
    assert row.provenance.calls == 2
    repair = double.calls()[1]
    assert [message["role"] for message in repair.messages] == ["system", "user", "assistant", "user"]
    assert "cannot be used" in repair.prompt


def test_an_item_without_content_is_not_sent(house: House) -> None:
    client, double = house.client, house.fresh().double
    batch = client.submit(ONCOLOGY, [{"id": "empty", "title": " ", "abstract": None, "_label": "1"}])
    assert batch.wait(timeout=60).failed == 1
    assert next(batch.results()).error_kind is ErrorKind.NO_CONTENT
    assert double.count() == 0


def test_the_model_of_a_batch_goes_before_the_workers_own(house: House) -> None:
    client, double = house.client, house.fresh().double
    client.submit(ONCOLOGY, abstracts(1), model="other-1").wait(timeout=60)
    client.submit(ONCOLOGY, abstracts(1)).wait(timeout=60)
    assert [call.model for call in double.calls()] == ["other-1", "double-1"]


def test_neither_logs_nor_redis_nor_the_ledger_hold_the_key(house: House) -> None:
    client, double = house.client, house.fresh().double
    double.script(faults=[Fault(Kind.UNAUTHORIZED, limit=3)])
    batch = client.submit(ONCOLOGY, abstracts(4))
    with pytest.raises(BatchPaused) as paused:
        batch.wait(timeout=60)
    key = house.environment["TAMIS_LLM_API_KEY"]
    assert key not in str(paused.value)
    assert "[key]" in str(paused.value)  # the masked one, which the endpoint quotes
    batch.resume()
    assert batch.wait(timeout=60).decided == 4
    rows = json.dumps([row.model_dump(mode="json") for row in batch.results()])
    assert key not in house.worker.text()
    assert key not in rows
    assert "Title of record" not in house.worker.text()
