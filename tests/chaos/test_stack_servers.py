"""`tamis up` with its servers killed under load: they are started again, and the batch goes on by itself."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from llm_double import Double
from stage import Faults, abstracts, reckon, wait_until
from stage.fault_house import ONCOLOGY, RECOVERED_WITHIN
from tamis_producer import Client, ProducerSettings
from tamis_producer.stack_file import StackFile

pytestmark = pytest.mark.chaos

UP_WITHIN = 90.0  # s
DOWN_WITHIN = 60.0  # s


@dataclass
class Up:
    """A running `tamis up`."""

    process: "subprocess.Popen[bytes]"
    client: Client
    log: Path

    def server(self, name: str) -> psutil.Process:
        """The process of a server that the stack has started: its first, not those that it starts itself."""
        children = psutil.Process(self.process.pid).children()
        return next(child for child in children if child.name() == name)


@pytest.fixture
def up(tmp_path_factory: pytest.TempPathFactory, double: Double) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("up")
    env = {
        **os.environ,
        "TAMIS_HOME": str(folder / ".tamis"),
        "TAMIS_LLM_BASE_URL": double.base_url,
        "TAMIS_LLM_API_KEY": "sk-test-of-the-double",
        "TAMIS_MODEL": "double-1",
        "TAMIS_CONCURRENCY": "16",
        "TAMIS_LEASE": "4",
        "TAMIS_SWEEP": "1",
    }
    log = folder / "up.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "tamis_worker", "up", "--workers", "2", "--no-flower"],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
    try:
        wait_until(
            lambda: StackFile.read(folder / ".tamis") is not None or process.poll() is not None,
            within=UP_WITHIN,
            what="the stack is up",
        )
        stack = StackFile.read(folder / ".tamis")
        assert stack is not None, log.read_text("utf-8")
        settings = ProducerSettings(
            broker_url=stack.broker_url, database_url=stack.database_url, shard_size=50, window=4
        )
        with Client(settings) as client:
            yield Up(process, client, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(DOWN_WITHIN)
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize(("name", "row"), [("postgres", 10), ("valkey-server", 7)])
def test_a_batch_goes_on_after_a_server_of_the_stack_was_killed(
    up: Up, double: Double, faults: Faults, name: str, row: int
) -> None:
    double.script(latency=0.2, remember=False)
    batch = up.client.submit(ONCOLOGY, abstracts(400))
    wait_until(lambda: batch.status().counts.decided >= 100, within=60, what="a quarter is decided")
    began = time.monotonic()
    up.server(name).kill()
    wait_until(lambda: "works again" in up.log.read_text("utf-8"), within=RECOVERED_WITHIN, what="it is started again")
    calls = double.count()
    wait_until(lambda: double.count() > calls, within=RECOVERED_WITHIN, what="calls are made again")
    recovery = time.monotonic() - began
    assert batch.wait(timeout=120).decided == 400
    reckoning = reckon(up.client, batch, double)
    assert reckoning.extra_calls == 0
    assert up.log.read_text("utf-8").count("works again") == 1  # the server; no worker had to be started again
    faults.record(
        row=row, reckoning=reckoning, faults=1, note=f"tamis up, {name} killed, calls again {recovery:.1f} s after it"
    )
