"""Around every request: how large it may be depends on its route; callers take turns; answers are compressed."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Sequence
from itertools import accumulate
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from tamis_producer.gateway import frame as frame_module
from tamis_producer.gateway.frame import (
    AT_ONCE,
    DOWNLOADS_AT_ONCE,
    LARGE,
    LARGE_AT_ONCE,
    OFF_THE_LOOP,
    SMALLEST,
    Compressed,
    LargeBodies,
    RequestLimits,
    TurnQueue,
    Turns,
    ValueCount,
    takes_gzip,
)
from tamis_producer.gateway.services import Items

LARGEST_OF = {"/v1/batches": None, "/v1/batches/{batch_id}/decisions": 100}


def status(path: str, length: int, method: str = "POST", *more: tuple[bytes, bytes]) -> int:
    """What a caller is told who announces so many bytes."""
    return int(answered(path, length, method, *more)["status"])


def answered(path: str, length: int, method: str = "POST", *more: tuple[bytes, bytes]) -> Message:
    """The beginning of the answer."""
    told: list[Any] = []

    async def answers(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 201, "headers": []})

    async def sent(message: Any) -> None:
        told.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": [(b"content-length", b"%d" % length), *more]}
    frame = RequestLimits(answers, largest=10, largest_of=LARGEST_OF)  # type: ignore[arg-type]  # as far as it asks
    asyncio.run(frame(scope, None, sent))  # type: ignore[arg-type]
    return dict(told[0])


@pytest.mark.parametrize(
    ("path", "length", "expected"),
    [
        ("/v1/batches", 1_000, 201),  # its route counts them
        ("/v1/batches/3f2a91c0/decisions", 100, 201),
        ("/v1/batches/3f2a91c0/decisions", 101, 413),
        ("/v1/batches/3f2a91c0/pause", 10, 201),
        ("/v1/batches/3f2a91c0/pause", 11, 413),
        ("/v1/batches/a/b/decisions", 11, 413),
        ("/v1/other/3f2a91c0/decisions", 11, 413),
    ],
)
def test_a_file_of_decisions_may_be_larger_than_another_request(path: str, length: int, expected: int) -> None:
    assert status(path, length) == expected
    assert status(path, 11, method="PUT") == 413


@pytest.mark.parametrize("path", ["/v1/batches", "/v1/batches/3f2a91c0/pause"])
def test_a_request_of_two_lengths_is_refused_and_its_connection_closed(path: str) -> None:
    answer = answered(path, 5, "POST", (b"transfer-encoding", b"chunked"))
    assert answer["status"] == 422
    assert (b"connection", b"close") in answer["headers"]


def is_counted_out(body: bytes, most: int, monkeypatch: pytest.MonkeyPatch, part: int = 1_000) -> bool:
    """Whether a body that comes in parts of so many bytes is refused at so many values."""
    monkeypatch.setattr(frame_module, "MOST_VALUES", most)
    count = ValueCount()
    for at in range(0, len(body), part):
        try:
            count.add(body[at : at + part])
        except HTTPException as error:
            return error.status_code == 413 and f"{most:,} JSON values" in error.detail
    return False


@pytest.mark.parametrize("part", [1, 2, 3, 1_000])
@pytest.mark.parametrize(
    ("body", "values"),
    [
        (b'{"a": "x, [{y}]", "b": "z"}', 3),
        (rb'["\\", "\",,,[[", "\\\"{,", 1]', 5),
        ('["é", "日,本"]'.encode(), 3),
        (b"[[], {}, [1, 2]]", 8),
    ],
)
def test_a_body_s_values_are_counted_outside_of_texts_wherever_its_parts_end(
    body: bytes, values: int, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_counted_out(body, values, monkeypatch, part)
    assert is_counted_out(body, values - 1, monkeypatch, part)


def test_no_encoding_hides_values(monkeypatch: pytest.MonkeyPatch) -> None:
    body = '["\u2200", {}, {}, {}, {}]'.encode().decode("unicode_escape")
    assert is_counted_out(body.encode("utf-16"), 5, monkeypatch)
    assert is_counted_out(body.encode("utf-32"), 5, monkeypatch)


@pytest.mark.parametrize(("path", "refused"), [("/v1/batches/3f2a91c0/pause", True), ("/v1/batches", False)])
def test_values_are_counted_before_a_route_reads_them_except_where_it_counts_itself(
    path: str, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame_module, "MOST_VALUES", 2)
    body: Message = {"type": "http.request", "body": b"[1,2]", "more_body": False}
    read: list[Message] = []

    async def reads(scope: Scope, receive: Receive, send: Send) -> None:
        read.append(await receive())

    async def receive() -> Message:
        return body

    async def send(message: Message) -> None:
        raise AssertionError(message)

    frame = RequestLimits(reads, largest=10, largest_of=LARGEST_OF)
    scope = {"type": "http", "method": "POST", "path": path, "headers": [(b"content-length", b"5")]}
    if refused:
        with pytest.raises(HTTPException, match="JSON values"):
            asyncio.run(frame(scope, receive, send))
    else:
        asyncio.run(frame(scope, receive, send))
    assert read == ([] if refused else [body])


async def test_bodies_in_memory_are_few_together_and_none_counts_after_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frame_module, "MOST_HELD", 10)
    answers, held = asyncio.Event(), list[int]()

    async def reads(scope: Scope, receive: Receive, send: Send) -> None:
        held.append(len((await receive())["body"]))
        await answers.wait()

    async def send(message: Message) -> None:
        raise AssertionError(message)

    frame = RequestLimits(reads, largest=10, largest_of=LARGEST_OF)

    def post(size: int, path: str = "/v1/batches/3f2a91c0/pause") -> "asyncio.Future[None]":
        async def receive() -> Message:
            return {"type": "http.request", "body": b"x" * size, "more_body": False}

        headers = [(b"content-length", b"%d" % size)]
        return asyncio.ensure_future(
            frame({"type": "http", "method": "POST", "path": path, "headers": headers}, receive, send)
        )

    waiting = [post(4), post(6), post(100, "/v1/batches")]
    await let_others_run()
    with pytest.raises(HTTPException, match="at once") as refused:
        await post(1)
    assert refused.value.status_code == 503
    answers.set()
    await asyncio.gather(*waiting, post(10))
    assert held == [4, 6, 100, 10]


START: Message = {"type": "http.response.start", "status": 200, "headers": []}
BODY: Message = {"type": "http.request", "body": b"", "more_body": False}


async def let_others_run() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_caller_s_first_request_comes_before_the_next_ones_of_others() -> None:
    queue, order = TurnQueue(1), list[str]()

    async def ask(caller: str) -> None:
        await queue.take(caller[0])
        order.append(caller)
        await asyncio.sleep(0)
        queue.give_back()

    await queue.take("a")  # a has its turn, and asks for more: b and c come when a's next ones wait
    asking = [asyncio.ensure_future(ask(caller)) for caller in ("a1", "a2", "a3", "b1", "b2", "c1")]
    await let_others_run()
    queue.give_back()
    await asyncio.gather(*asking)
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3"]


async def test_who_is_gone_while_it_waits_takes_no_turn_and_who_is_gone_with_one_gives_it_back() -> None:
    queue = TurnQueue(1)
    await queue.take("a")
    gone, granted, last = (asyncio.ensure_future(queue.take(caller)) for caller in "bcd")
    await let_others_run()
    gone.cancel()
    await let_others_run()
    queue.give_back()  # c's turn, who is cancelled before it knows
    granted.cancel()
    await asyncio.wait_for(last, 1)
    assert gone.cancelled()
    assert granted.cancelled()
    queue.give_back()
    await asyncio.wait_for(queue.take("e"), 1)


def scope_of(path: str, key: str = "Bearer k") -> Scope:
    return {"type": "http", "path": path, "headers": [(b"authorization", key.encode())], "client": ("127.0.0.1", 1)}


class App:
    """An application that notes which requests began, and goes on with each when it is told to."""

    def __init__(self, act: Callable[[Receive, Send], Awaitable[None]]) -> None:
        self.begun: list[str] = []
        self.ends = asyncio.Event()
        self._act = act

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.append(scope["path"])
        await self._act(receive, send)
        await self.ends.wait()


async def nothing(receive: Receive, send: Send) -> None:
    """Compute for long."""


async def begin_to_answer(receive: Receive, send: Send) -> None:
    await send(START)


async def wait_for_the_caller(receive: Receive, send: Send) -> None:
    await receive()  # the body, which is whole
    asyncio.ensure_future(receive())  # until the caller hangs up  # noqa: RUF006
    await asyncio.sleep(0)


async def receive_part(receive: Receive, send: Send) -> None:
    await receive()


async def begun(app: App, path: str = "/v1/batches", count: int = 9, message: Message = BODY) -> int:
    """How many of so many requests begin before any of them ends."""

    async def receive() -> Message:
        return message

    async def send(_: Message) -> None:
        pass

    served = Turns(app)
    requests = [asyncio.ensure_future(served(scope_of(path), receive, send)) for _ in range(count)]
    await let_others_run()
    found = len(app.begun)
    app.ends.set()
    await asyncio.gather(*requests)
    assert len(app.begun) == count
    return found


async def test_so_many_begin_at_once() -> None:
    assert await begun(App(nothing)) == AT_ONCE


async def test_downloads_take_no_turn_from_others() -> None:
    assert await begun(App(nothing), "/v1/batches/1/results") == DOWNLOADS_AT_ONCE


async def test_probes_need_no_turn() -> None:
    assert await begun(App(nothing), "/healthz") == 9


@pytest.mark.parametrize("act", [begin_to_answer, wait_for_the_caller])
async def test_a_turn_ends_where_the_answer_begins_or_the_caller_is_waited_for(
    act: Callable[[Receive, Send], Awaitable[None]],
) -> None:
    assert await begun(App(act), count=3) == 3


async def test_a_turn_ends_where_the_body_is_still_to_come() -> None:
    assert await begun(App(receive_part), count=3, message={**BODY, "more_body": True}) == 3


async def test_a_long_turn_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_module, "LONGEST_TURN", 0.0)
    assert await begun(App(nothing)) == 9


class Sender:
    """Callers with large bodies: which of them are read, and when a read ends."""

    def __init__(self) -> None:
        self.bodies = LargeBodies()
        self.reading: list[str] = []
        self.ends = {name: asyncio.Event() for name in ("a1", "a2", "b1", "c1")}
        self.gone: set[str] = set()

    def send(self, name: str, size: int = LARGE + 1) -> "asyncio.Task[None]":
        return asyncio.ensure_future(self._send(name, size))

    async def _send(self, name: str, size: int) -> None:
        async def receive() -> Message:
            if name not in self.gone:
                await asyncio.Event().wait()
            return {"type": "http.disconnect"}

        request = Request({"type": "http", "headers": [(b"authorization", name[:1].encode())]}, receive)
        async with self.bodies.turn(request, size):
            self.reading.append(name)
            await self.ends[name].wait()


async def test_large_bodies_of_a_key_are_read_one_by_one_and_few_of_all_keys_together() -> None:
    sender = Sender()
    tasks = [sender.send(name) for name in sender.ends]
    await let_others_run()
    assert sender.reading == ["a1", "b1"]
    assert len(sender.reading) == LARGE_AT_ONCE
    sender.ends["b1"].set()
    await let_others_run()
    assert sender.reading == ["a1", "b1", "c1"]
    sender.ends["a1"].set()
    await let_others_run()
    assert sender.reading == ["a1", "b1", "c1", "a2"]
    for end in sender.ends.values():
        end.set()
    await asyncio.gather(*tasks)


async def test_a_small_body_waits_for_no_large_one() -> None:
    sender = Sender()
    tasks = [sender.send("a1"), sender.send("a2", LARGE)]
    await let_others_run()
    assert sorted(sender.reading) == ["a1", "a2"]
    for end in sender.ends.values():
        end.set()
    await asyncio.gather(*tasks)


async def test_a_body_whose_caller_has_gone_meanwhile_is_not_read() -> None:
    sender = Sender()
    first, second = sender.send("a1"), sender.send("a2")
    await let_others_run()
    sender.gone.add("a2")
    sender.ends["a1"].set()
    await first
    with pytest.raises(HTTPException, match="gone"):
        await second
    assert sender.reading == ["a1"]


LINE = b'{"index": 0, "value": true}\n'


def answer(kind: str, bodies: Sequence[bytes], *, accept: str = "gzip") -> tuple[dict[bytes, bytes], list[bytes]]:
    """The headers, and each piece of the body as it was sent."""
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", kind.encode())]
        if len(bodies) == 1:
            headers.append((b"content-length", str(len(bodies[0])).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for place, body in enumerate(bodies, 1):
            await send({"type": "http.response.body", "body": body, "more_body": place < len(bodies)})

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "headers": [(b"accept-encoding", accept.encode())]}
    asyncio.run(Compressed(app)(scope, receive, send))
    assert [message.get("more_body", False) for message in sent[1:]] == [True] * (len(bodies) - 1) + [False]
    return dict(sent[0]["headers"]), [message["body"] for message in sent[1:]]


def read(pieces: Sequence[bytes]) -> list[int]:
    """How many bytes a reader has after each piece."""
    reader, had = zlib.decompressobj(16 + zlib.MAX_WBITS), 0
    counted = []
    for piece in pieces:
        had += len(reader.decompress(piece))
        counted.append(had)
    assert reader.eof
    return counted


def test_a_stream_is_compressed_as_it_comes_and_keeps_nobody_waiting_for_what_is_there() -> None:
    half, whole = b"x" * (OFF_THE_LOOP // 2), b"y" * (2 * OFF_THE_LOOP)  # the second one on a thread
    headers, pieces = answer("application/x-ndjson", [half, half, whole, half, LINE, LINE, b""])
    assert headers[b"content-encoding"] == b"gzip"
    assert headers[b"vary"] == b"Accept-Encoding"
    assert b"content-length" not in headers
    sizes = [len(half), len(half), len(whole), len(half), len(LINE), len(LINE), 0]
    assert read(pieces) == [*accumulate(sizes)]
    assert sum(map(len, pieces)) < OFF_THE_LOOP // 10


@pytest.mark.parametrize(
    ("kind", "bodies", "accept"),
    [
        ("text/event-stream", [LINE * 100, LINE], "gzip"),
        ("application/json", [b"x" * (SMALLEST - 1)], "gzip"),
        ("image/png", [b"x" * SMALLEST], "gzip"),
        ("application/json", [b"x" * SMALLEST], "br"),
        ("application/json", [b"x" * SMALLEST], "gzip;q=0, *"),
    ],
)
def test_what_gains_nothing_or_must_not_wait_is_sent_as_it_is(kind: str, bodies: list[bytes], accept: str) -> None:
    headers, pieces = answer(kind, bodies, accept=accept)
    assert b"content-encoding" not in headers
    assert pieces == bodies


def test_a_whole_answer_is_compressed_from_a_size_on() -> None:
    headers, pieces = answer("application/json", [b"x" * SMALLEST])
    assert headers[b"content-encoding"] == b"gzip"
    assert read(pieces) == [SMALLEST]


@pytest.mark.parametrize(
    ("accepted", "taken"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("*", True),
        ("", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("*;q=1, gzip;q=0", False),
        ("gzip;q=much", False),
    ],
)
def test_who_takes_gzip(accepted: str, taken: bool) -> None:
    assert takes_gzip(accepted) is taken


def test_a_list_of_wrong_items_gives_one_complaint_and_not_one_for_each() -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter[Any](Items).validate_python([0] * 1_000)
    assert refused.value.error_count() == 1
