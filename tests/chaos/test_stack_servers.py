"""`tamis up` with its servers killed under load: they are started again, and the batch goes on by itself."""

import time
from collections.abc import Iterator

import psutil
import pytest

from llm_double import Double
from stage import Faults, abstracts, reckon, wait_until
from stage.fault_house import ONCOLOGY, RECOVERED_WITHIN
from stage.running_stack import RunningStack, running_stack
from tamis_producer import Client, ProducerSettings

pytestmark = pytest.mark.chaos


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory, _double_of_the_module: Double) -> Iterator[RunningStack]:
    given = {"TAMIS_LLM_BASE_URL": _double_of_the_module.base_url, "TAMIS_LLM_API_KEY": "sk-test-of-the-double"}
    patience = {"TAMIS_CONCURRENCY": "16", "TAMIS_LEASE_SECONDS": "4", "TAMIS_SWEEP_INTERVAL": "1"}
    folder = tmp_path_factory.mktemp("up")
    with running_stack(folder, "--workers", "2", "--no-flower", TAMIS_MODEL="double-1", **given, **patience) as up:
        yield up


@pytest.fixture
def client(up: RunningStack) -> Iterator[Client]:
    servers = ProducerSettings(broker_url=up.stack.broker_url, database_url=up.stack.database_url, shard_size=50)
    with Client(servers) as client:
        yield client


def server(up: RunningStack, name: str) -> psutil.Process:
    """The process of a server that the stack has started: its first, not those that it starts itself."""
    children = psutil.Process(up.process.pid).children()
    return next(child for child in children if child.name() == name)


@pytest.mark.night
@pytest.mark.parametrize(("name", "row"), [("postgres", 10), ("valkey-server", 7)])
def test_a_batch_goes_on_after_a_server_of_the_stack_was_killed(
    up: RunningStack, client: Client, kept_double: Double, faults: Faults, name: str, row: int
) -> None:
    double = kept_double
    double.script(latency=0.4, remember=False)
    batch = client.submit(ONCOLOGY, abstracts(200), use_cache=False)
    wait_until(lambda: batch.status().counts.decided >= 50, within=60, what="a quarter is decided")
    mended = up.log.read_text("utf-8").count("works again")
    began = time.monotonic()
    server(up, name).kill()
    wait_until(
        lambda: up.log.read_text("utf-8").count("works again") > mended,
        within=RECOVERED_WITHIN,
        what="it is started again",
    )
    calls = double.count()
    wait_until(lambda: double.count() > calls, within=RECOVERED_WITHIN, what="calls are made again")
    recovery = time.monotonic() - began
    assert batch.wait(timeout=120).decided == 200
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls == 0
    assert up.log.read_text("utf-8").count("works again") == mended + 1  # the server; no worker had to be started again
    faults.record(
        row=row, reckoning=reckoning, faults=1, note=f"tamis up, {name} killed, calls again {recovery:.1f} s after it"
    )
