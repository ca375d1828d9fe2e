"""Budgets with real workers: what the double was really asked, at the prices given, stays within them."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from math import ceil
from pathlib import Path

import pytest

from llm_double import Double, Fault, Kind, Scripted
from stage import WorkerProcess, abstracts
from tamis_producer import Batch, Client, ProducerSettings
from tamis_schemas import (
    BatchPaused,
    Filter,
    IdempotencyConflict,
    InvalidParameters,
    ItemStatus,
    PauseKind,
)

ONCOLOGY = Filter(criteria="Is this about oncology?")
ANSWER = json.dumps({"reasoning": "because it says so, at some length", "value": True, "confidence": 0.9})
INPUT, OUTPUT = Decimal("10"), Decimal("20")  # dollars per million tokens

Start = Callable[..., WorkerProcess]


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text(f"models:\n  double-1:\n    input: {INPUT}\n    output: {OUTPUT}\n", "utf-8")
    return path


@pytest.fixture
def client(settings: ProducerSettings, prices: Path) -> Iterator[Client]:
    with Client(settings.model_copy(update={"prices": prices})) as client:
        yield client


def paid(double: Double) -> Decimal:
    """What the double's own count of tokens costs; one token is four characters, to the next whole one."""
    answered = [call for call in double.calls() if call.status == 200]
    asked = sum(ceil(len(call.prompt) / 4) for call in answered)
    return (asked * INPUT + len(answered) * ceil(len(ANSWER) / 4) * OUTPUT) / 1_000_000


def paused(batch: Batch) -> BatchPaused:
    with pytest.raises(BatchPaused) as caught:
        batch.wait(timeout=60)
    return caught.value


def spent(batch: Batch) -> Decimal:
    budget = batch.status().budget
    assert budget is not None
    return budget.spent


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.night), 2])
def test_a_budget_holds_across_workers_and_a_larger_one_goes_on_without_asking_twice(
    client: Client, double: Double, start_worker: Start, prices: Path, workers: int
) -> None:
    double.script(answers=[Scripted("record number", ANSWER)])
    max_cost = Decimal("0.25")  # a call costs 0.003 to 0.004, at most 0.03 are held for it: about 60 of 100
    batch = client.submit(ONCOLOGY, abstracts(100), max_cost=max_cost, model="double-1")
    for _ in range(workers):
        start_worker(prices=str(prices), concurrency="16")
    said = paused(batch)
    double.wait(in_flight=0)
    assert said.pause.kind is PauseKind.BUDGET
    assert "of $0.25 is spent; the next call may cost $0.0" in str(said)
    assert f"tamis resume {batch.id} --max-cost" in str(said)
    assert paid(double) <= max_cost
    assert paid(double) > Decimal("0.20")  # not stopped for what calls in flight might have cost
    view = batch.status()
    assert view.counts.decided == double.count()
    assert view.counts.pending == 100 - double.count()
    assert view.counts.failed == 0
    assert view.budget is not None
    assert (view.budget.spent, view.budget.reserved) == (paid(double), Decimal(0))
    assert view.cost == paid(double)

    batch.resume(Decimal("1"))
    assert batch.wait(timeout=60).decided == 100
    prompts = Counter(call.prompt for call in double.calls())
    assert len(prompts) == 100
    assert set(prompts.values()) == {1}
    summary = batch.summary()
    assert summary is not None
    assert (summary.cost, summary.unpriced) == (paid(double), 0)
    rows = list(batch.results())
    assert sum((row.cost or Decimal(0) for row in rows), Decimal(0)) == paid(double) == spent(batch)


@pytest.mark.night
def test_failed_and_repaired_calls_are_paid_for_too(
    client: Client, double: Double, start_worker: Start, prices: Path
) -> None:
    double.script(
        answers=[Scripted("record number", ANSWER)],
        faults=[
            Fault(Kind.MALFORMED, contains="record number 0.", content=ANSWER[:-1]),
            Fault(Kind.SERVER_ERROR, limit=2),
        ],
    )
    batch = client.submit(ONCOLOGY, abstracts(4), max_cost=Decimal("1"), model="double-1")
    start_worker(prices=str(prices))
    counts = batch.wait(timeout=60)
    assert (counts.decided, counts.failed) == (3, 1)
    failed = next(batch.results())
    assert failed.status == ItemStatus.FAILED
    assert failed.provenance is not None
    usage = failed.provenance.usage
    assert failed.cost == (usage.prompt_tokens * INPUT + usage.completion_tokens * OUTPUT) / 1_000_000
    assert failed.cost is not None
    assert failed.cost > 0
    summary = batch.summary()
    assert summary is not None
    assert summary.cost == spent(batch) == sum(row.cost or 0 for row in batch.results())


@pytest.mark.night
def test_a_result_from_the_cache_costs_nothing_and_needs_no_budget(
    client: Client, double: Double, start_worker: Start, prices: Path
) -> None:
    start_worker(prices=str(prices))
    client.submit(ONCOLOGY, abstracts(5), model="double-1").wait(timeout=60)
    batch = client.submit(ONCOLOGY, abstracts(5), model="double-1", max_cost=Decimal(0))
    assert batch.wait(timeout=60).decided == 5
    assert double.count() == 5
    assert [row.cost for row in batch.results()] == [0] * 5
    assert all(row.provenance is not None and row.provenance.cached for row in batch.results())


def test_an_unknown_price_is_not_taken_for_nothing(client: Client, double: Double, start_worker: Start) -> None:
    start_worker()
    batch = client.submit(ONCOLOGY, abstracts(3), model="double-2")
    batch.wait(timeout=60)
    assert [row.cost for row in batch.results()] == [None] * 3
    summary = batch.summary()
    assert summary is not None
    assert (summary.cost, summary.unpriced) == (Decimal(0), 3)
    assert batch.status().unpriced == 3


def test_a_budget_for_a_model_without_a_price_pauses_before_any_call(
    client: Client, double: Double, start_worker: Start, prices: Path
) -> None:
    worker = start_worker(model="unheard-of", concurrency="8")
    batch = client.submit(ONCOLOGY, abstracts(20), max_cost=Decimal("1"))
    said = paused(batch)
    assert said.pause.kind is PauseKind.PRICE
    assert "the price of the model 'unheard-of'" in str(said)
    assert double.count() == 0
    assert worker.stop() == 0
    prices.write_text("models:\n  unheard-of: {input: 1, output: 1}\n", "utf-8")
    start_worker(model="unheard-of", prices=str(prices))
    batch.resume()
    assert batch.wait(timeout=60).decided == 20


def test_a_calls_time_out_keeps_its_reservation(
    client: Client, double: Double, start_worker: Start, prices: Path
) -> None:
    """Nobody knows whether it was paid for."""
    double.script(faults=[Fault(Kind.SLOW, delay=30.0, limit=1)], answers=[Scripted("record number", ANSWER)])
    batch = client.submit(ONCOLOGY, abstracts(1), max_cost=Decimal("1"), model="double-1")
    start_worker(prices=str(prices), call_timeout="1")
    assert batch.wait(timeout=60).decided == 1
    budget = batch.status().budget
    assert budget is not None
    assert budget.reserved > budget.spent > 0


def test_a_budget_is_refused_at_submit_where_the_price_is_not_known(client: Client) -> None:
    with pytest.raises(InvalidParameters, match="unheard-of"):
        client.submit(ONCOLOGY, abstracts(1), model="unheard-of", max_cost=Decimal("1"))
    assert client.batches() == []


def test_a_key_used_again_never_stands_for_a_larger_budget_than_asked_for(client: Client) -> None:
    def submit(max_cost: str | None) -> Batch:
        cost = None if max_cost is None else Decimal(max_cost)
        return client.submit(ONCOLOGY, abstracts(1), model="double-1", idempotency_key="k", max_cost=cost)

    first = submit("1")
    assert submit("1").id == submit("2").id == submit(None).id == first.id
    with pytest.raises(IdempotencyConflict, match=r"a budget of \$1\.00 instead of \$0\.50"):
        submit("0.5")
