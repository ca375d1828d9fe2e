"""Where Prometheus fetches the figures: `/metrics`, served by a thread of the worker."""

import errno
import logging
import socket
import threading
from socketserver import ThreadingMixIn
from typing import Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

from tamis_producer.process.tracing import quietly

NEIGHBOURS = 32  # ports that are tried, for so many workers on one machine
READ_WITHIN = 5.0  # s for a request to arrive

log = logging.getLogger(__name__)


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    allow_reuse_port = False  # two workers on one port would be asked by turns


class _IPv6Server(_Server):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    timeout = READ_WITHIN

    def log_message(self, *_: object) -> None:
        """A scrape is no news."""


class Exposition:
    """Serves a registry from `start` to `close`."""

    def __init__(self, registry: CollectorRegistry, host: str, port: int) -> None:
        """`port` 0: any that is free. Another one that is taken, by a worker of the same machine: the next free one."""
        self._registry = registry
        self._host = host
        self._port = port
        self._server: WSGIServer | None = None

    @property
    def url(self) -> str | None:
        """The URL of the figures; None: they are not served."""
        if self._server is None:
            return None
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._server.server_port}/metrics"

    def start(self) -> Self:
        """Serve. Where no port is to be had the worker works without: that is a warning in its log."""
        try:
            self._server = self._listening()
        except OSError as error:
            log.warning("no metrics: %s port %d: %s", self._host, self._port, error.strerror or error)
        else:
            threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()
            log.info("metrics at %s", self.url)
        return self

    @quietly
    def close(self) -> None:
        """Serve no more."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def _listening(self) -> WSGIServer:
        app = make_wsgi_app(self._registry)
        kind = _IPv6Server if ":" in self._host else _Server
        last = self._port + NEIGHBOURS if self._port else 1
        for port in range(self._port, min(last, 65_536)):
            try:
                return make_server(self._host, port, app, server_class=kind, handler_class=_Handler)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
        raise OSError(errno.EADDRINUSE, f"taken, and so are those up to {min(last, 65_536) - 1}")
