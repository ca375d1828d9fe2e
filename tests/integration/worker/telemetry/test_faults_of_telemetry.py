"""A fault of telemetry, of any kind, never touches the work."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stage import WorkerProcess, abstracts
from stage.faulty_telemetry import CALLS
from tamis_producer import Client
from tamis_schemas import Filter

pytestmark = pytest.mark.built_from("worker/tamis_worker/telemetry", "producer/tamis_producer/process/tracing.py")

ASKED = Filter(criteria="Is this about oncology?")
BROKEN = Path(__file__).parents[3] / "broken_telemetry"
STOPPED_WITHIN = 15.0  # s; the flush may take three of them


@pytest.fixture
def silent() -> Iterator[str]:
    """A receiver that takes connections and says nothing, ever."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def hold() -> None:
            while True:
                try:
                    held.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=hold, daemon=True).start()
        yield f"http://user:hunter2-hunter2@127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        for one in held:
            one.close()


def is_done(client: Client, start: Callable[[], WorkerProcess]) -> WorkerProcess:
    """A batch is evaluated as if nothing was wrong, and the worker stops as it should."""
    worker = start()
    batch = client.submit(ASKED, abstracts(40), shard_size=10)
    counts = batch.wait(timeout=60)
    assert counts.decided == 40
    assert batch.summary() is not None
    began = time.monotonic()
    assert worker.stop() == 0
    assert time.monotonic() - began < STOPPED_WITHIN
    assert "Traceback" not in worker.text()
    return worker


def test_a_receiver_that_is_not_there_costs_a_warning(
    client: Client, environment: dict[str, str], tmp_path: Path
) -> None:
    asked = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://user:hunter2-hunter2@127.0.0.1:9", "OTEL_BSP_SCHEDULE_DELAY": "100"}
    asked |= {"OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    worker = is_done(client, lambda: WorkerProcess(tmp_path, "worker", environment | asked))
    assert worker.text().count("traces are lost") == 1
    assert "hunter2" not in worker.text()


@pytest.mark.spec("4.31")
def test_a_receiver_that_hangs_holds_up_neither_work_nor_stop(
    client: Client, environment: dict[str, str], tmp_path: Path, silent: str
) -> None:
    asked = {"OTEL_EXPORTER_OTLP_ENDPOINT": silent, "OTEL_BSP_SCHEDULE_DELAY": "100"}
    asked |= {"OTEL_EXPORTER_OTLP_TIMEOUT": "600"}
    is_done(client, lambda: WorkerProcess(tmp_path, "worker", environment | asked))


# Which of them fails where is told apart by tests/unit/producer/process/test_tracing.py.
@pytest.mark.spec("4.31")
@pytest.mark.parametrize(
    "failing",
    [
        ",".join(CALLS),
        pytest.param("start_span", marks=pytest.mark.night),
        pytest.param("set_attributes,add_event,end", marks=pytest.mark.night),
    ],
)
def test_an_sdk_that_raises_is_not_noticed(
    client: Client, environment: dict[str, str], tmp_path: Path, failing: str
) -> None:
    asked = {"PYTHONPATH": str(BROKEN), "BROKEN_TELEMETRY": failing}
    is_done(client, lambda: WorkerProcess(tmp_path, "worker", environment | asked))


@pytest.mark.parametrize(
    "asked",
    [
        {"OTEL_TRACES_EXPORTER": "nonsense"},
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
        pytest.param(
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere"},
            marks=pytest.mark.night,
        ),
        pytest.param(
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "\x01nonsense", "OTEL_EXPORTER_OTLP_TIMEOUT": "long"},
            marks=pytest.mark.night,
        ),
    ],
    ids=["unknown exporter", "exporter not installed", "certificate not there", "no URL"],
)
def test_settings_that_are_wrong_cost_a_warning(
    client: Client, environment: dict[str, str], tmp_path: Path, asked: dict[str, str]
) -> None:
    worker = is_done(client, lambda: WorkerProcess(tmp_path, "worker", environment | asked))
    assert "traces" in worker.text()
