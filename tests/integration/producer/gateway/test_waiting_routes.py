"""A request that waits: for so long at most, not for a caller who has hung up, and not for a gateway that stops."""

import json
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest
from sqlalchemy import select

from llm_double import Double
from stage import WorkerProcess, abstracts
from stage.gateway import gateway
from stage.waiting import wait_until
from tamis_producer import Batch, Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_schemas import BatchStatus, Filter
from tamis_schemas.ledger import batches

N = 40  # items; two at a time, half a second each, take 10 s
BODY = {"items": abstracts(N), "criteria": "Is this about oncology?", "an_app_of_its_own": {"says": "more"}}
LARGEST = 1_000_000


def latest(client: Client) -> Batch:
    """The last batch that was submitted, whether lists show it or not."""
    with client.engine.connect() as connection:
        last = select(batches.c.id).order_by(batches.c.created_at.desc()).limit(1)
        return client.batch(str(connection.execute(last).scalar_one()))


def hang_up(base: str, key: str, double: Double, path: str, body: object) -> None:
    """Ask, and go once the model was asked."""
    at, content = urlsplit(base), json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    asked = len(double.calls())
    with socket.create_connection((at.hostname, at.port or 80)) as connection:
        connection.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        double.wait(calls=asked + 3)


@pytest.mark.night
def test_who_waits_too_long_is_told_where_the_results_will_be_and_who_hangs_up_is_not_asked_for(
    client: Client, start_worker: Callable[..., WorkerProcess], double: Double
) -> None:
    start_worker(concurrency="2")
    key = api_keys.create(client.engine, "A web page", [Scope.SUBMIT, Scope.READ])
    headers = {"Authorization": f"Bearer {key}"}
    double.script(latency=0.5)
    with gateway(client, largest_body=LARGEST) as base:
        # Somebody's batch of the same question, submitted before, is nobody's request that waits.
        other = client.submit(Filter(criteria="Is it a trial?"), abstracts(1))
        hang_up(base, key, double, "/api/tablizer/filter", BODY)
        hung_up = latest(client)
        wait_until(lambda: hung_up.status().finished, within=20, what="the batch of who hung up is cancelled")
        view = hung_up.status()
        assert view.state is BatchStatus.CANCELLED
        assert 0 < view.counts.decided < N  # what is paid is kept
        assert view.counts.decided + view.counts.cancelled == N
        assert other.wait(20).decided == 1

        with httpx.Client(base_url=base, headers=headers, timeout=30) as http:
            told = http.post("/api/tablizer/filter", json=BODY, headers={"Prefer": "wait=1"})
            assert (told.status_code, told.headers["Preference-Applied"]) == (202, "wait=1")
            batch = told.json()["batch_id"]
            assert told.headers["Location"] == told.json()["results"] == f"/v1/batches/{batch}/results"
            double.script(latency=0.0)
            client.batch(batch).wait(30)  # it was nobody's to cancel
            assert len(http.get(told.headers["Location"]).text.splitlines()) == N
            answered = http.post("/api/tablizer/filter", json=BODY)  # of the cache; what it does not know is ignored
            assert (answered.status_code, len(answered.json()["results"])) == (200, N)


def test_a_gateway_that_stops_keeps_nobody_waiting(
    client: Client, start_worker: Callable[..., WorkerProcess], double: Double
) -> None:
    double.script(latency=3.0)
    start_worker(concurrency="2")
    key = api_keys.create(client.engine, "A web page", [Scope.SUBMIT])
    one = {"instruct": "What is a sieve?", "resp_format": "One sentence.", "eval_crit": "Correct.", "iter_max": 1}
    with ThreadPoolExecutor(1) as pool:
        with gateway(client) as base:
            headers = {"Authorization": f"Bearer {key}"}
            waiting = pool.submit(httpx.post, f"{base}/api/lab/generate-answer", json=one, headers=headers, timeout=30)
            double.wait(calls=1)
        told = waiting.result()
    assert told.status_code == 202
    latest(client).wait(30)  # it goes on
