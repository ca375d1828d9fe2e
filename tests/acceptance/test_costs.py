"""Money on the command line: a budget that pauses, a larger one that goes on, and what it all cost."""

import csv
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from llm_double import Double
from stage import WorkerProcess, abstracts, tamis


@pytest.mark.night
def test_a_screening_stops_at_its_budget_goes_on_with_a_larger_one_and_says_what_it_cost(
    double: Double, environment: dict[str, str], start_worker: Callable[..., WorkerProcess], tmp_path: Path
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n  double-1: {input: 10, output: 20}\n", "utf-8")
    (tmp_path / "r.jsonl").write_text("\n".join(json.dumps(item) for item in abstracts(30)), "utf-8")
    env = environment | {"TAMIS_PRICES": str(prices)}
    start_worker(prices=str(prices))
    asking = ["filter", "r.jsonl", "--criteria", "Is it?"]

    stopped = tamis(*asking, "--max-cost", "0.08", "--priority", "high", env=env, cwd=tmp_path)
    assert stopped.code == 1, stopped.err
    assert "of $0.08 is spent; the next call may cost $0.0" in stopped.err
    batch = stopped.out.split("batch ")[1].split(":")[0]
    assert f"tamis resume {batch} --max-cost" in stopped.err
    paused = tamis("status", batch, env=env, cwd=tmp_path).out
    assert "of $0.08 spent" in paused
    assert "high" in paused
    assert 0 < double.count() < 30

    assert tamis("resume", batch, "--max-cost", "5", env=env, cwd=tmp_path).code == 0
    followed = tamis("status", batch, "--watch", env=env, cwd=tmp_path)
    assert followed.code == 0, followed.err
    assert double.count() == 30
    told = json.loads(tamis("status", batch, "--json", env=env, cwd=tmp_path).out)
    written = tamis("results", batch, env=env, cwd=tmp_path).out
    costs = [Decimal(row["cost"]) for row in csv.DictReader(written.splitlines())]
    assert len(costs) == 30
    assert min(costs) > 0
    assert sum(costs) == Decimal(str(told["cost"])) == Decimal(str(told["budget"]["spent"]))
    assert told["unpriced"] == 0

    free = tamis(*asking, env=environment, cwd=tmp_path)  # the same questions: all of them are answered already
    assert free.code == 0, free.err
    assert "$0.00" in free.out
    assert double.count() == 30
    refused = tamis(*asking, "--max-cost", "1", "--model", "unheard-of", env=env, cwd=tmp_path)
    assert refused.code == 2
    assert "no price is known for the model 'unheard-of'" in refused.err
