"""The double's HTTP, byte by byte."""

import asyncio
import json
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest

from llm_double import Double, Fault, Kind

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY


@pytest.fixture
def double(kept_double: Double) -> Double:
    return kept_double


class Wire:
    """One connection to the double."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def answer(self) -> tuple[int, bytes]:
        """The status and the body of the next answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        return int(head.split()[1]), await self.reader.readexactly(length)


@pytest.fixture
async def wire(double: Double) -> AsyncIterator[Wire]:
    place = urlsplit(double.base_url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    async with asyncio.timeout(10):
        yield Wire(reader, writer)
    writer.close()


async def test_a_request_may_come_in_pieces(double: Double, wire: Wire) -> None:
    for place in range(0, len(REQUEST), 7):
        wire.writer.write(REQUEST[place : place + 7])
        await wire.writer.drain()
    status, body = await wire.answer()
    assert (status, json.loads(body)["object"]) == (200, "chat.completion")
    assert double.count() == 1


async def test_requests_sent_at_once_are_answered_one_after_the_other(double: Double, wire: Wire) -> None:
    double.script(faults=[Fault(Kind.SERVER_ERROR, calls=(2,))])
    wire.writer.write(REQUEST * 3)
    assert [(await wire.answer())[0] for _ in range(3)] == [200, 500, 200]
    assert [call.in_flight for call in double.calls()] == [1, 1, 1]


async def test_a_body_of_unknown_length_is_answered_411(wire: Wire) -> None:
    wire.writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert await wire.answer() == (411, b"")
    assert await wire.reader.read() == b""


async def test_a_client_that_wants_the_connection_closed_gets_it_closed(wire: Wire) -> None:
    wire.writer.write(b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n")
    status, _ = await wire.answer()
    assert status == 200
    assert await wire.reader.read() == b""


async def test_what_is_not_served_is_answered_404(wire: Wire) -> None:
    wire.writer.write(b"GET /v1/embeddings HTTP/1.1\r\n\r\n")
    assert (await wire.answer())[0] == 404


async def test_an_answer_that_is_cut_ends_in_its_middle(double: Double, wire: Wire) -> None:
    double.script(faults=[Fault(Kind.CUT)])
    wire.writer.write(REQUEST)
    with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
        await wire.answer()


async def test_an_answer_that_trickles_comes_whole_in_the_end(double: Double, wire: Wire) -> None:
    double.script(faults=[Fault(Kind.TRICKLE, delay=0.01)])
    wire.writer.write(REQUEST)
    status, body = await wire.answer()
    assert (status, json.loads(body)["object"]) == (200, "chat.completion")


async def test_the_tally_counts_what_the_limits_admit_and_what_they_refuse(double: Double, wire: Wire) -> None:
    double.script(rpm=2, sliding=True)
    wire.writer.write(REQUEST * 3)
    assert [(await wire.answer())[0] for _ in range(3)] == [200, 200, 429]
    tally = double.tally()
    assert sum(second.requests for second in tally.seconds) == 2
    assert sum(second.refused for second in tally.seconds) == 1
    assert tally.most_requests == 3
    assert tally.most_tokens == 3 * (1 + 2)  # "hi" is one token, "Hello." two
