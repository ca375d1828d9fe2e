"""TLS in front of the embedded servers, which speak none themselves: a proxy that shows a certificate of the test's."""

import asyncio
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

SSL_REQUEST = struct.pack("!ii", 8, 80877103)  # how a Postgres client asks for TLS; the answer is S
CHUNK = 2**16

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True)
class Authority:
    """A certificate authority, and the file by which it is known."""

    ca: trustme.CA
    file: Path

    @classmethod
    def new(cls, folder: Path, name: str) -> "Authority":
        ca = trustme.CA()
        ca.cert_pem.write_to_path(folder / f"{name}.pem")
        return cls(ca, folder / f"{name}.pem")

    def server(self, *names: str, expired: bool = False) -> ssl.SSLContext:
        """What a server needs to show a certificate for these names."""
        until = datetime.now(UTC) - timedelta(days=1) if expired else None
        since = datetime.now(UTC) - timedelta(days=9) if expired else None
        certificate = self.ca.issue_cert(*names, not_before=since, not_after=until)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        certificate.configure_cert(context)
        return context


@contextmanager
def tls_front(
    context: ssl.SSLContext, *, port: int | None = None, socket_file: str | None = None, postgres: bool = False
) -> Iterator[int]:
    """The port on 127.0.0.1 at which a server (TCP or Unix socket) is reached by TLS and in no other way."""

    async def behind() -> Streams:
        if socket_file is not None:
            return await asyncio.open_unix_connection(socket_file)
        return await asyncio.open_connection("127.0.0.1", port)

    async def serve(accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):  # whoever hangs up in the middle of a handshake is what is tested
            if postgres:
                if await loop.sock_recv(accepted, len(SSL_REQUEST)) != SSL_REQUEST:
                    accepted.close()
                    return
                await loop.sock_sendall(accepted, b"S")
            reader = asyncio.StreamReader()
            protocol = asyncio.StreamReaderProtocol(reader)
            try:
                transport, _ = await loop.connect_accepted_socket(lambda: protocol, accepted, ssl=context)
            finally:
                if reader.at_eof():
                    accepted.close()
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            inner_reader, inner_writer = await behind()
            try:
                await asyncio.gather(_pump(reader, inner_writer), _pump(inner_reader, writer))
            finally:
                writer.transport.abort()
                inner_writer.transport.abort()

    async def accept(listening: socket.socket) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                accepted, _ = await asyncio.get_running_loop().sock_accept(listening)
                group.create_task(serve(accepted))

    with socket.create_server(("127.0.0.1", 0)) as listening, asyncio.Runner() as runner:
        listening.setblocking(False)
        stop = threading.Event()

        async def run() -> None:
            accepting = asyncio.create_task(accept(listening))
            await asyncio.to_thread(stop.wait)
            accepting.cancel()
            await asyncio.gather(accepting, return_exceptions=True)
            await asyncio.sleep(0)  # transports that were aborted close at the next turn
            await asyncio.sleep(0)

        thread = threading.Thread(target=runner.run, args=(run(),))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            stop.set()
            thread.join(20)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()
    writer.close()
