"""HTTP/1.1 as uvicorn speaks it, with patience that ends: for headers, for what nobody wants, for who reads nothing."""

import asyncio
import socket
import struct
from http import HTTPStatus
from random import random

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SPEAK_WITHIN = 10.0  # s for the headers of a request, and for the rest of a body that was answered before its end
SPREAD = 0.1  # of it more at the most, so that callers who came together are not all hung up on in one moment
READ_WITHIN = 60.0  # s in which a caller takes something of what waits for it; else it is hung up on
# Bytes that the machine keeps for a caller. Left to itself it takes some 4 MB, and all of that would be read from the
# ledger and written for each caller who then reads none of it.
UNSENT = 131_072
REASON = HTTPStatus.REQUEST_TIMEOUT


class PatientProtocol(H11Protocol):
    """One connection."""

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
        """Have a caller who owes something owe it for a while only; whatever else comes meanwhile changes nothing."""
        if self.transport.is_closing() or not self._owes:
            self._stop_speaking()
        elif self._speaking is None:
            patience = SPEAK_WITHIN * (1 + SPREAD * random())  # noqa: S311 - nothing is kept secret by it
            self._speaking = self.loop.call_later(patience, self._give_up)

    @property
    def _owes(self) -> bool:
        headers = self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None
        rest = self.conn.their_state is h11.SEND_BODY and self.conn.our_state in (h11.DONE, h11.MUST_CLOSE)
        return headers or rest

    def _give_up(self) -> None:
        said_something = bool(self.conn.trailing_data[0])
        if self.conn.our_state is h11.IDLE and said_something and not self.transport.is_closing():
            close = [(b"content-length", b"0"), (b"connection", b"close")]
            response = h11.Response(status_code=REASON.value, headers=close, reason=REASON.phrase.encode())
            for event in (response, h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _hang_up(self) -> None:
        connection = self.transport.get_extra_info("socket")
        if connection is not None:  # else the machine would keep what was written for a caller who does not read
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
