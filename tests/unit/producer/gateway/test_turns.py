"""Turns among callers: shares, the order of the first and the next request, and when a turn ends."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from starlette.types import Message, Receive, Scope, Send

from tamis_producer.gateway import turns
from tamis_producer.gateway.turns import AT_ONCE, DOWNLOADS_AT_ONCE, TurnQueue, Turns

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
    monkeypatch.setattr(turns, "LONGEST_TURN", 0.0)
    assert await begun(App(nothing)) == 9
