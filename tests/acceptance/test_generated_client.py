"""A client that a program generates from the OpenAPI description submits, waits, reads results and overrides one.

The generator does not go together with what Tamis depends on, so it has an environment of its own.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx2 as httpx
import pytest

from llm_double import Double
from stage import WorkerProcess, abstracts
from stage.fresh_project import pip_for
from stage.gateway import gateway
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_schemas import Filter

HERE = Path(__file__).parents[1] / "generated_client"
WITHIN = 240.0  # s


def ran(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=WITHIN, check=False
    )


@pytest.fixture
def binaries(tmp_path: Path) -> Path:
    """Where the generator's programs are, and the libraries that its clients need."""
    environment = tmp_path / "environment"
    ran(sys.executable, "-m", "venv", "--without-pip", environment, cwd=tmp_path)
    pinned = ("--no-deps", "--no-compile", "--requirement", HERE / "requirements.txt")
    made = ran(*pip_for(environment), "install", "--quiet", *pinned, cwd=tmp_path)
    if made.returncode != 0 and not os.environ.get("CI"):
        pytest.skip(f"no package index: {made.stderr[-300:]}")
    assert made.returncode == 0, made.stdout + made.stderr
    return environment / "bin"


@pytest.mark.night
def test_a_generated_client_submits_waits_reads_and_overrides(
    binaries: Path, client: Client, start_worker: Callable[..., WorkerProcess], double: Double, tmp_path: Path
) -> None:
    start_worker(concurrency="8")
    key = api_keys.create(client.engine, "A stranger", [Scope.READ, Scope.SUBMIT, Scope.DECIDE])
    with gateway(client, largest_body=1_000_000) as base:
        (tmp_path / "openapi.json").write_bytes(httpx.get(f"{base}/openapi.json").content)
        made = ran(
            *(binaries / "openapi-python-client", "generate", "--meta", "none", "--fail-on-warning"),
            *("--config", HERE / "config.yaml", "--path", "openapi.json", "--output-path", "tamis_client"),
            cwd=tmp_path,
        )
        assert made.returncode == 0, made.stdout + made.stderr
        shutil.copy(HERE / "use.py", tmp_path)  # beside the package
        used = ran(binaries / "python", "use.py", base, key, cwd=tmp_path)
    assert used.returncode == 0, used.stderr
    found = json.loads(used.stdout)
    values = found.pop("values")
    assert all(isinstance(value, bool) for value in values)
    ids = [f"r{n}" for n in range(6)]
    assert found == {
        "key": "A stranger",
        "same": True,
        "replayed": [None, "true"],
        "state": "completed",
        "submitted_by": "A stranger",
        "items": ids,
        "override": [2, True, "A stranger", "seen"],
        "pages": 2,
        "overrides": 1,
        "summed": 6,
        "listed": True,
        "unknown": ["urn:tamis:problem:unknown", 404],
        "filtered": ids[:2],
    }


@pytest.mark.night
def test_generated_types_let_typescript_read_all_pages_of_results(
    client: Client, start_worker: Callable[..., WorkerProcess], double: Double, tmp_path: Path
) -> None:
    for name in ("package.json", "use.ts"):
        shutil.copy(HERE / name, tmp_path)
    if shutil.which("npm") is None:
        pytest.skip("no npm")
    made = ran("npm", "install", "--no-audit", "--no-fund", cwd=tmp_path)
    if made.returncode != 0 and not os.environ.get("CI"):
        pytest.skip(f"no package index: {made.stderr[-300:]}")
    assert made.returncode == 0, made.stdout + made.stderr
    start_worker(concurrency="8")
    batch = client.submit(Filter(criteria="Is it?"), abstracts(6))
    batch.wait(60)
    key = api_keys.create(client.engine, "A stranger", [Scope.READ])
    binaries = tmp_path / "node_modules" / ".bin"
    with gateway(client, largest_body=1_000_000) as base:
        (tmp_path / "openapi.json").write_bytes(httpx.get(f"{base}/openapi.json").content)
        checked = ("--strict", "--skipLibCheck", "--target", "es2022", "--module", "commonjs")
        for command in (
            (binaries / "openapi-typescript", "openapi.json", "--output", "api.ts"),
            (binaries / "tsc", *checked, "--moduleResolution", "node", "--types", "node", "use.ts"),
        ):
            built = ran(*command, cwd=tmp_path)
            assert built.returncode == 0, built.stdout + built.stderr
        used = ran("node", "use.js", base, key, cwd=tmp_path)
    assert used.returncode == 0, used.stderr
    printed = json.loads(used.stdout)
    assert all(isinstance(value, bool) for value in printed.pop("values"))
    assert printed == {
        "state": "completed",
        "items": [str(item["id"]) for item in abstracts(6)],
        "pages": 2,
        "unknown": "urn:tamis:problem:unknown",
    }
