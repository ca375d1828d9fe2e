"""The server of recorded answers, over real HTTP: what an OpenAI client and the stack ask of it."""

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from tamis_cli.embedded.recorded_server import Recordings, serve

QUESTION = json.dumps({"messages": [{"role": "user", "content": "title: Known"}]})


@pytest.fixture(scope="module")
def connection() -> Iterator[HTTPConnection]:
    """One connection, which stays open from one request to the next."""
    with serve(Recordings([{"title": "Known", "answer": {"a": 1}}]), 0, latency=0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=20)
        connection.connect()
        connection.auto_open = 0
        yield connection
        connection.close()
        server.shutdown()
        thread.join()


def asked(connection: HTTPConnection, method: str, path: str, body: str | None = None) -> tuple[int, Any]:
    connection.request(method, path, body)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def test_one_connection_serves_health_models_and_completions(connection: HTTPConnection) -> None:
    assert asked(connection, "GET", "/health") == (200, {"status": "ok"})
    status, models = asked(connection, "GET", "/v1/models")
    assert (status, [model["id"] for model in models["data"]]) == (200, ["recorded-answers"])
    for _ in range(2):
        status, answer = asked(connection, "POST", "/v1/chat/completions", QUESTION)
        assert (status, answer["choices"][0]["message"]["content"]) == (200, '{"a": 1}')


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("GET", "/v1/files", None, 404, "there is no /v1/files"),
        ("POST", "/v1/embeddings", "{}", 404, "there is no /v1/embeddings"),
        ("POST", "/v1/chat/completions", "{", 400, "not JSON"),
        ("POST", "/v1/chat/completions", QUESTION.replace("Known", "Unknown"), 400, "no answer is recorded"),
    ],
)
def test_anything_else_is_an_error_and_the_connection_stays_open(
    connection: HTTPConnection, method: str, path: str, body: str | None, status: int, said: str
) -> None:
    answered, error = asked(connection, method, path, body)
    assert answered == status
    assert said in error["error"]["message"]
