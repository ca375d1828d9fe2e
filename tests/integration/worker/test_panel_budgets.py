"""A panel's budget covers all of its models, and a killed worker pays for no answer twice."""

from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from llm_double import Double, Scripted
from stage import WorkerProcess, abstracts
from tamis_producer import Client, ProducerSettings
from tamis_schemas import BatchPaused, Filter, InvalidParameters, Panel, PanelPolicy, PauseKind

MODELS = ("small", "middle", "large")
ONCOLOGY = Filter(criteria="Is this about oncology?")
ANSWER = {"reasoning": "it is", "value": True, "confidence": 0.9}


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.yaml"
    listed = "".join(
        f"  {model}:\n    input: {price}\n    output: {price}\n"
        for model, price in zip(MODELS, (1, 10, 100), strict=True)
    )
    path.write_text(f"models:\n{listed}", "utf-8")
    return path


@pytest.fixture
def priced(settings: ProducerSettings, prices: Path) -> Iterator[Client]:
    with Client(settings.model_copy(update={"prices": prices})) as client:
        yield client


@pytest.mark.night
def test_a_budget_covers_the_whole_panel_and_a_killed_worker_pays_for_no_answer_twice(
    priced: Client, double: Double, start_worker: Callable[..., WorkerProcess], prices: Path
) -> None:
    panel = Panel(models=MODELS, policy=PanelPolicy.MAJORITY)
    double.script(latency=0.1, answers=[Scripted("record number", ANSWER)])
    with pytest.raises(InvalidParameters, match="'unheard-of'"):
        priced.submit(ONCOLOGY, abstracts(1), panel=Panel(models=("small", "unheard-of")), max_cost=Decimal(1))
    batch = priced.submit(ONCOLOGY, abstracts(40), panel=panel, max_cost=Decimal("0.5"))
    first = start_worker(prices=str(prices), concurrency="4", lease_seconds="2")
    with pytest.raises(BatchPaused) as caught:
        batch.wait(timeout=60)
    double.wait(in_flight=0)
    assert caught.value.pause.kind is PauseKind.BUDGET
    budget = batch.status().budget
    assert budget is not None
    assert Decimal("0.1") < budget.spent + budget.reserved <= Decimal("0.5")

    before = double.count()
    batch.resume(Decimal(50))
    double.wait(calls=before + 20, bound=60)
    first.kill()
    double.wait(in_flight=0)
    lost = Counter((call.model, call.prompt) for call in double.calls())
    start_worker(prices=str(prices), concurrency="4", lease_seconds="2", sweep_interval="1")
    assert batch.wait(timeout=60).decided == 40
    times = Counter((call.model, call.prompt) for call in double.calls())
    assert len(times) == 120  # 40 records, three models
    twice = {question for question, count in times.items() if count > 1}
    assert twice <= lost.keys()
    assert len(twice) <= 3 * 4  # at most the calls that were in flight: of four items, with three models each
    for row in batch.results():
        assert row.panel is not None
        assert row.cost is not None
        assert row.cost >= sum(one.cost or 0 for one in row.panel.verdicts)
