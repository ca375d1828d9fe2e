"""A TCP proxy between a process and its server, which can hold back or cut what goes through it."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

CHUNK = 65_536
START_WITHIN = 10.0  # s


def through(url: str) -> tuple[str, int]:
    """Host and port of a URL: what a proxy for it passes on to."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


class TcpProxy:
    """Listens on `host` and passes everything on to a server, in a thread of its own, while the `with` block lasts.

    `server` is a host and port, or the path of a Unix socket.
    """

    port: int

    def __init__(self, server: tuple[str, int] | Path, *, host: str = "127.0.0.1") -> None:
        self._server = server
        self._host = host
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="tcp proxy", daemon=True)
        self._listening = threading.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = {"requests": asyncio.Event(), "replies": asyncio.Event()}
        for way in self._open.values():
            way.set()
        self._trap: tuple[bytes, threading.Event] | None = None

    def url(self, direct: str) -> str:
        """The same URL, through this proxy."""
        parts = urlsplit(direct)
        user, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{user}{at}{self._host}:{self.port}"))

    def hold(self, *ways: str) -> None:
        """Keep connections open, but let nothing of "requests" or "replies" through; of both where none is named.

        New connections are taken, and held as well: the server looks as if it were there and silent.
        """
        self._set(ways or tuple(self._open), passing=False)

    def hold_replies_to(self, request: bytes) -> threading.Event:
        """Hold all replies, as `hold`, from the next request on that has these bytes. The event is set then.

        The server gets the request, and nobody hears of what it did.
        """
        sprung = threading.Event()
        self._trap = (request, sprung)
        return sprung

    def let_go(self) -> None:
        """Pass on what was held back, and everything else."""
        self._set(tuple(self._open), passing=True)

    def move(self, server: tuple[str, int]) -> None:
        """Pass new connections on to another server; open ones stay where they are."""
        self._server = server

    def cut(self) -> None:
        """Close every connection; what was held back on them is gone. New ones are taken as before."""
        self._loop.call_soon_threadsafe(self._cut)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._listening.wait(START_WITHIN):
            raise RuntimeError("the proxy does not listen")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _set(self, ways: tuple[str, ...], *, passing: bool) -> None:
        def change() -> None:
            for way in ways:
                if passing:
                    self._open[way].set()
                else:
                    self._open[way].clear()
            done.set()

        done = threading.Event()
        self._loop.call_soon_threadsafe(change)
        done.wait(START_WITHIN)

    def _cut(self) -> None:
        for task in self._tasks:
            task.cancel()
        for writer in self._writers:
            writer.transport.abort()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        listener = self._loop.run_until_complete(asyncio.start_server(self._connected, self._host, 0))
        self.port = listener.sockets[0].getsockname()[1]
        self._listening.set()
        self._loop.run_forever()
        self._cut()
        listener.close()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.run_until_complete(asyncio.sleep(0))  # for transports to close
        self._loop.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if isinstance(self._server, Path):
                far_reader, far_writer = await asyncio.open_unix_connection(self._server)
            else:
                far_reader, far_writer = await asyncio.open_connection(*self._server)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, far_writer}
        self._writers |= both
        ways = {
            asyncio.ensure_future(self._pass(reader, far_writer, self._open["requests"], self._spring)),
            asyncio.ensure_future(self._pass(far_reader, writer, self._open["replies"])),
        }
        self._tasks |= ways
        with suppress(asyncio.CancelledError):  # this task ends here either way
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for task in ways:
            task.cancel()
        self._tasks -= ways
        self._writers -= both
        for end in both:
            end.transport.abort()

    def _spring(self, data: bytes) -> None:
        """Hold the replies where this is the request that is waited for."""
        if self._trap is not None and self._trap[0] in data:
            self._open["replies"].clear()
            self._trap[1].set()
            self._trap = None

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        gate: asyncio.Event,
        heard: Callable[[bytes], None] | None = None,
    ) -> None:
        try:
            while data := await reader.read(CHUNK):
                if heard is not None:
                    heard(data)
                await gate.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass  # one of the two is gone, and so is the connection
