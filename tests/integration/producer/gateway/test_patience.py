"""What the gateway does not wait for: slow headers, slow bodies, readers who read nothing, guesses, a stuck pool."""

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from stage import abstracts
from stage.gateway import gateway, signed_in
from stage.plain_http import http_client
from stage.strangers import Strangers, first_bytes, status_of, strangers
from tamis_producer import Client
from tamis_producer.gateway import api_keys, app, frame
from tamis_producer.gateway import server as protocol
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.gateway.wrong_keys import BURST
from tamis_schemas import Filter

SHORT = 0.3  # s
LINE = b'{"operation": {"operation": "filter", "criteria": "Is it?"}}\n'


@pytest.fixture
def key(client: Client) -> str:
    return api_keys.create(client.engine, "A stranger", [Scope.READ, Scope.SUBMIT])


@pytest.fixture
def them(client: Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[Strangers]:
    monkeypatch.setattr(protocol, "SPEAK_WITHIN", SHORT)
    monkeypatch.setattr(protocol, "READ_WITHIN", SHORT)
    monkeypatch.setattr(frame, "PATIENCE", SHORT)
    with gateway(client) as url, strangers(url) as them:
        yield them


def rest(caller: socket.socket) -> bytes:
    """All that comes until the gateway closes the connection."""
    return first_bytes(caller, 10_000_000)


def test_who_never_ends_its_headers_is_told_and_who_says_nothing_is_let_go(them: Strangers) -> None:
    silent = them.connect()
    slow = them.connect(b"GET /healthz HTTP/1.1\r\nX-")
    second = them.connect(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert status_of(first_bytes(second, 12)) == 200
    second.sendall(b"GET /healthz HTTP/1.1\r\nX-")  # of its next request
    assert rest(silent) == b""
    assert status_of(rest(slow)) == 408
    assert b" 408 " in rest(second)


def test_a_body_that_does_not_come_is_a_408_and_nothing_is_written(client: Client, them: Strangers, key: str) -> None:
    slow = them.post("/v1/batches", key, length=1_000)
    slow.sendall(LINE)
    answer = rest(slow)  # also the connection ends, though the rest of the body never came
    assert status_of(answer) == 408
    assert b"urn:tamis:problem:request-timeout" in answer
    trickles = them.post("/v1/criteria", key, length=100, kind="application/json")
    assert status_of(rest(trickles)) == 408
    gone = them.post("/v1/batches", key, length=1_000)
    gone.close()
    assert client.batches() == []


def test_who_takes_nothing_of_an_answer_is_hung_up_on(client: Client, them: Strangers, key: str) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(2_000, words=300))
    caller = them.ask(f"/v1/batches/{batch.id}/results", key)
    assert status_of(first_bytes(caller)) == 200
    hung_up = select.poll()
    hung_up.register(caller, select.POLLHUP)
    assert hung_up.poll(20_000), "its connection is still there"


def test_wrong_keys_are_refused_unread_and_a_right_one_is_not(client: Client) -> None:
    with signed_in(client, "A pipeline", Scope.READ) as http:
        assert http.get("/v1/batches").status_code == 200
        wrong = {"Authorization": "Bearer tamis_0a_x"}
        told = [http.get("/v1/batches", headers=wrong).status_code for _ in range(BURST + 5)]
        assert told[:BURST] == [401] * BURST
        assert 429 in told[BURST:]
        refused = http.get("/v1/batches", headers=wrong)
        assert (refused.status_code, refused.headers.get("Retry-After")) in {(429, "1"), (401, None)}
        assert http.get("/v1/batches").status_code == 200


def test_healthz_turns_red_without_a_connection_when_the_pool_is_stuck(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gateway(client) as base, http_client(base) as http, ExitStack() as lent:
        for _ in range(15):  # all that the pool may have
            lent.enter_context(client.engine.connect())
        assert http.get("/healthz").status_code == 200
        monkeypatch.setattr(app, "STUCK_AFTER", 0.0)
        answer = http.get("/healthz")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        lent.close()
        assert http.get("/healthz").status_code == 200
