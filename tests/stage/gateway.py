"""The HTTP gateway in this process, on a free port."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial

import httpx2 as httpx
import uvicorn

from tamis_cli.dry_run.first_questions import rehearse as rehearse_with
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.gateway.app import create_app
from tamis_producer.gateway.server import PatientProtocol
from tamis_producer.runs.dry_run import Planned, Rehearsal
from tamis_review.page.application import Screening
from tamis_worker.config.settings import WorkerSettings

from .plain_http import http_client
from .waiting import wait_until

STOP_WITHIN = 15.0  # s


@contextmanager
def gateway(client: Client, *, largest_body: int = 10_000, port: int = 0) -> Iterator[str]:
    """Its base URL, while it runs."""
    with _listening(port) as listening:
        application = Screening(partial(_rehearsed, client))
        app = create_app(client, application=application, largest_body=largest_body, stops=lambda: server.should_exit)
        config = uvicorn.Config(app, http=PatientProtocol, log_level="critical", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="gateway")
        thread.start()
        try:
            wait_until(lambda: server.started, within=10, what="the gateway listens")
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(STOP_WITHIN)
            assert not thread.is_alive(), "the gateway did not stop"


def _listening(port: int) -> socket.socket:
    """On one port again and again, where no other is asked for: a browser keeps what it has read of the page there."""
    try:
        return socket.create_server(("127.0.0.1", port or _usual_port()))
    except OSError:
        if port:
            raise
        return socket.create_server(("127.0.0.1", 0))  # another gateway runs there


@cache
def _usual_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def signed_in(client: Client, label: str, *scopes: Scope, largest_body: int = 10_000) -> Iterator[httpx.Client]:
    """Whoever asks the gateway with a key of these scopes."""
    key = api_keys.create(client.engine, label, scopes)
    with (
        gateway(client, largest_body=largest_body) as base,
        http_client(base, key) as http,
    ):
        yield http


def _rehearsed(client: Client, planned: Planned) -> Rehearsal:
    """As `tamis serve` does it, for workers with the client's settings."""
    return rehearse_with(planned, WorkerSettings.model_validate(client.settings.model_dump(exclude_unset=True)))
