"""A receiver of webhooks: an HTTP server in this process, which answers as it is told and keeps what came."""

import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook

SECRET = "whsec_" + "dGFtaXMgdGFtaXMgdGFtaXMgdGFtaXMgdGFtaXM="  # "tamis" six times


@dataclass(frozen=True)
class Received:
    """One request."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """The webhook's id, as the receiver reads it."""
        return self.headers["webhook-id"]

    def verified(self, secret: str = SECRET) -> Any:
        """The body, once its signature is found right; raises where it is not."""
        return Webhook(secret).verify(self.body, dict(self.headers))


@dataclass
class WebhookReceiver:
    """What came so far, and what is answered: a status with headers, or bytes instead of HTTP."""

    url: str
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None  # instead of an answer
    silent: threading.Event | None = None  # nothing is answered before it is set
    received: list[Received] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        """Of each request."""
        return [one.id for one in self.received]


@contextmanager
def receiving_webhooks(
    tls: ssl.SSLContext | None = None, *, host: str = "127.0.0.1", port: int = 0
) -> Iterator[WebhookReceiver]:
    """A receiver on a free port, behind a certificate where a context is given."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.received.append(Received({name.lower(): value for name, value in self.headers.items()}, body))
            if receiver.silent is not None:
                receiver.silent.wait(30)
            if receiver.raw is not None:
                self.wfile.write(receiver.raw)
                self.close_connection = True
                return
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Whoever hangs up, or refuses the certificate, is what is tested."""

    server = Server((host, port), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    scheme = "http" if tls is None else "https"
    receiver = WebhookReceiver(f"{scheme}://{host}:{server.server_address[1]}/hook")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        if receiver.silent is not None:
            receiver.silent.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
