"""The OpenAPI description holds: requests made from it, fitting and not, are answered as it says."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from llm_double import Double
from stage import WorkerProcess, abstracts
from stage.gateway import gateway
from tamis_producer import Client
from tamis_producer.gateway import api_keys, wrong_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_schemas import Filter

HERE = Path(__file__).parent
PHASES = "examples,coverage,fuzzing"  # `coverage` goes through the boundary values of every parameter
EXAMPLES = 10  # requests drawn at random for each route
WITHIN = 900.0  # s; at night a small model runs beside it

pytestmark = pytest.mark.timeout(1_000)


@pytest.mark.night
def test_requests_made_from_the_description_are_answered_as_it_says(
    client: Client,
    start_worker: Callable[..., WorkerProcess],
    double: Double,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for burst in ("BURST", "BURST_OF_ALL"):  # each route is asked with wrong keys, faster than anybody may go on
        monkeypatch.setattr(wrong_keys, burst, 10_000)
    start_worker(concurrency="8")
    batch = client.submit(Filter(criteria="Is this about oncology?"), abstracts(3))
    batch.wait(60)
    key = api_keys.create(client.engine, "A pipeline", list(Scope))
    config = tmp_path / "schemathesis.toml"
    config.write_text((HERE / config.name).read_text("utf-8"), "utf-8")
    told = {"PYTHONPATH": str(HERE), "SCHEMATHESIS_HOOKS": "schemathesis_hooks", "BATCH_ID": batch.id}
    with gateway(client, largest_body=1_000_000) as base:
        ran = subprocess.run(
            [
                str(Path(sys.executable).with_name("st")),
                f"--config-file={config}",
                "run",
                f"{base}/openapi.json",
                f"--header=Authorization: Bearer {key}",
                f"--phases={PHASES}",
                f"--max-examples={EXAMPLES}",
                "--exclude-path=/v1/events",  # it has no end of its own
                "--seed=1",
                "--continue-on-failure",
            ],
            cwd=tmp_path,
            env=os.environ | told,
            capture_output=True,
            text=True,
            timeout=WITHIN,
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
