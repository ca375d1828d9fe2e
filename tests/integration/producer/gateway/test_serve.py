"""`tamis serve` and `tamis keys` as processes."""

import signal
import socket
from pathlib import Path

import httpx2 as httpx
import pytest

from stage import abstracts, tamis
from stage.gateway_process import serving
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.gateway.server import STOP_WITHIN
from tamis_schemas import Filter


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_until_it_is_told_to_stop(
    client: Client, environment: dict[str, str], tmp_path: Path, signal_: signal.Signals
) -> None:
    with serving(environment, tmp_path) as gateway:
        gateway.process.send_signal(signal_)
        done = gateway.finished()
    assert (done.code, done.err) == (0, "")
    assert f"the gateway listens at {gateway.url}" in done.out


def test_who_follows_a_batch_does_not_keep_it_from_stopping(
    client: Client, environment: dict[str, str], tmp_path: Path
) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(3))  # without a worker: it does not end
    headers = {"Authorization": f"Bearer {api_keys.create(client.engine, 'A page', [Scope.READ])}"}
    with (
        serving(environment, tmp_path) as gateway,
        httpx.stream("GET", f"{gateway.url}/v1/batches/{batch.id}/events", headers=headers) as stream,
    ):
        lines = stream.iter_lines()
        assert next(lines) == "event: progress"
        gateway.process.send_signal(signal.SIGTERM)
        done = gateway.finished(within=STOP_WITHIN - 2)  # before it would be cut off
        assert "event: end" not in list(lines)
    assert (done.code, done.err) == (0, "")


def test_a_port_that_is_taken_is_said_and_nothing_is_claimed(
    client: Client, environment: dict[str, str], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = tamis("serve", "--port", str(port), env=environment, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert f"cannot listen at 127.0.0.1:{port}: Address already in use; choose another --host or --port" in done.err


def test_a_key_is_made_listed_and_revoked(client: Client, environment: dict[str, str], tmp_path: Path) -> None:
    made = tamis("keys", "create", "Reviewer 1", "--scope", "decide", env=environment, cwd=tmp_path)
    key = made.out.strip()
    assert key.startswith("tamis_")
    listed = tamis("keys", "list", env=environment, cwd=tmp_path)
    assert "Reviewer 1" in listed.out
    assert key.split("_", 2)[2] not in listed.out
    revoked = tamis("keys", "revoke", key.split("_")[1], env=environment, cwd=tmp_path)
    assert "is revoked" in revoked.out
    again = tamis("keys", "revoke", key.split("_")[1], env=environment, cwd=tmp_path)
    assert again.code == 2
    assert "tamis keys list" in again.err
