"""The gateway as a process: uvicorn with the application, until a signal stops it."""

import asyncio
import gc
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from random import random

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tamis_schemas import ConfigurationError

from ..client.client import Client
from .app import create_app
from .extension import Application

SPEAK_WITHIN = 10.0  # s for the headers of a request, and for the rest of a body that was answered before its end
SPREAD = 0.1  # largest random addition, so that callers who came together are not all disconnected at once
READ_WITHIN = 60.0  # s in which a caller must read some of its answer, else it is disconnected
# Bytes of the socket's send buffer. The default of some 4 MB would be read from the ledger and written for each caller,
# even one that reads nothing.
UNSENT = 131_072
REASON = HTTPStatus.REQUEST_TIMEOUT


class PatientProtocol(H11Protocol):
    """A connection with time limits: a caller must send and read in time."""

    _speaking: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNSENT)
        self._attend()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_speaking()
        self._stop_reading()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._attend()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._attend()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self._reading or self.loop.call_later(READ_WITHIN, self._hang_up)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_reading()

    def _attend(self) -> None:
        """Start the timer if the caller must send data; stop it if not. A running timer is not restarted."""
        if self.transport.is_closing() or not self._owes:
            self._stop_speaking()
        elif self._speaking is None:
            patience = SPEAK_WITHIN * (1 + SPREAD * random())  # noqa: S311 - not for security
            self._speaking = self.loop.call_later(patience, self._give_up)

    @property
    def _owes(self) -> bool:
        headers = self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None
        rest = self.conn.their_state is h11.SEND_BODY and self.conn.our_state in (h11.DONE, h11.MUST_CLOSE)
        return headers or rest

    def _give_up(self) -> None:
        received = bool(self.conn.trailing_data[0])
        if self.conn.our_state is h11.IDLE and received and not self.transport.is_closing():
            close = [(b"content-length", b"0"), (b"connection", b"close")]
            response = h11.Response(status_code=REASON.value, headers=close, reason=REASON.phrase.encode())
            for event in (response, h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _hang_up(self) -> None:
        connection = self.transport.get_extra_info("socket")
        if connection is not None:  # else the buffer would keep data for a caller who does not read
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _stop_speaking(self) -> None:
        if self._speaking is not None:
            self._speaking.cancel()
            self._speaking = None

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


STOP_WITHIN = 10  # s, for requests that are being answered
# s of computing before other threads have their turn. With the default of 5 ms, each request would wait several times
# while bodies are read and results written.
TURN = 0.0005
ACCEPTED = 32  # callers accepted in one round of the event loop, so that others have their turn between rounds
WAITING = 2_048  # callers who may wait to be accepted


class _Server(uvicorn.Server):
    """A server that accepts few callers in one round of the event loop, but lets many callers wait.

    asyncio itself has a single number for these two limits.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(WAITING)
        gc.collect()
        gc.freeze()  # these objects stay to the end; scanning them took 150 ms each time


def serve(client: Client, *, host: str, port: int, ready: Callable[[], None], application: Application) -> None:
    """Answer requests until SIGTERM or Ctrl-C. Call this function on the main thread.

    `ready` is called when the server accepts requests; `application` is passed to `create_app`. For requests from other
    machines, put a proxy with TLS in front. Raises `ConfigurationError` if the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0]  # after it comes the address again
        raise ConfigurationError(
            f"the gateway cannot listen at {host}:{port}: {reason}; choose another --host or --port"
        ) from error
    sys.setswitchinterval(TURN)
    with listening:
        ready()
        app = create_app(client, application=application, stops=lambda: server.should_exit)
        # Its log lines use the same output and filter as the command line's.
        config = uvicorn.Config(
            app,
            http=PatientProtocol,
            ws="none",
            backlog=ACCEPTED,
            loop="asyncio",  # it accepts all waiting callers at once; uvloop accepts one in each round of the loop
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=STOP_WITHIN,
        )
        server = _Server(config)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn raises it again when it has stopped
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
