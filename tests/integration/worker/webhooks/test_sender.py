"""One try of a webhook over real sockets: what is sent, and every way in which it can go wrong."""

import asyncio
import json
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import aiohttp.abc
import pytest
from pydantic import SecretStr
from standardwebhooks import WebhookVerificationError

from stage.tls import Authority
from stage.webhook_receiver import SECRET, receiving_webhooks
from tamis_cli.embedded.ports import free_port
from tamis_worker.webhooks.schedule import DeliveryAnswer
from tamis_worker.webhooks.sender import Sender

BODY = json.dumps({"type": "batch.completed", "data": {"label": "spring – ä"}}, ensure_ascii=False)
ID = UUID("3f2a91c0-0000-4000-8000-000000000001")
OTHER_SECRET = "whsec_" + "c2lybmEgc2lybmEgc2lybmEgc2lybmEgc2lybmE="

Send = Callable[..., Awaitable[DeliveryAnswer]]


@pytest.fixture
async def send() -> AsyncIterator[Send]:
    opened: list[Sender] = []

    async def sent(url: str, body: str = BODY, now: datetime | None = None, **options: Any) -> DeliveryAnswer:
        opened.append(Sender(SecretStr(SECRET), **({"private": True} | options)))
        return await opened[-1].send(ID, url, body, now)

    yield sent
    for sender in opened:
        await sender.close()


async def test_a_receiver_verifies_what_it_gets_with_the_package_of_the_specification(send: Send) -> None:
    with receiving_webhooks() as receiver:
        answer = await send(receiver.url)
    assert answer == DeliveryAnswer(204, "answered 204")
    (one,) = receiver.received
    assert one.verified() == json.loads(BODY)
    assert one.id == str(ID)
    assert one.headers["content-type"] == "application/json"
    assert "cookie" not in one.headers
    with pytest.raises(WebhookVerificationError):
        one.verified(OTHER_SECRET)


async def test_a_signature_is_as_old_as_the_try_so_that_an_old_one_cannot_be_sent_again(send: Send) -> None:
    with receiving_webhooks() as receiver:
        await send(receiver.url, now=datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(WebhookVerificationError, match="too old"):
        receiver.received[0].verified()


async def test_a_redirection_is_a_failure_and_is_not_followed(send: Send) -> None:
    with receiving_webhooks() as elsewhere, receiving_webhooks() as receiver:
        receiver.status, receiver.headers = 307, {"Location": elsewhere.url, "Set-Cookie": "a=b"}
        answer = await send(receiver.url)
    assert answer == DeliveryAnswer(307, "answered 307: redirects are not followed; name the final URL")
    assert elsewhere.received == []


@pytest.mark.parametrize(("asked", "seconds"), [("120", 120.0), ("later", None)])
async def test_a_receiver_that_is_busy_says_how_long(send: Send, asked: str, seconds: float | None) -> None:
    with receiving_webhooks() as receiver:
        receiver.status, receiver.headers = 503, {"Retry-After": asked}
        assert await send(receiver.url) == DeliveryAnswer(503, "answered 503", seconds)


@pytest.mark.parametrize(
    "raw",
    [b"", b"\x00\xff\x00\xff" * 50, b"HTTP/9.9 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"],
    ids=["nothing", "bytes", "no status", "no length"],
)
async def test_garbage_is_a_failure(send: Send, raw: bytes) -> None:
    with receiving_webhooks() as receiver:
        receiver.raw = raw
        answer = await send(receiver.url)
    assert answer.status is None
    assert answer.said in ("its answer is not HTTP", "the connection broke: ServerDisconnectedError")


async def test_an_endless_body_is_not_read_and_a_silent_receiver_is_left(send: Send) -> None:
    with receiving_webhooks() as receiver:
        receiver.raw = b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n" + b"x" * 1000
        assert (await send(receiver.url)).delivered
        receiver.silent = threading.Event()
        assert await send(receiver.url, within=0.2) == DeliveryAnswer(None, "no answer within 0.2 s")


async def test_nobody_there_is_a_failure(send: Send) -> None:
    assert await send(f"http://127.0.0.1:{free_port()}/") == DeliveryAnswer(None, "no connection: Connection refused")
    assert await send("http://receiver.invalid/") == DeliveryAnswer(None, "its host name is unknown")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (None, "answered 204"),
        ("authority", "its certificate is not valid: unable to get local issuer certificate"),
        ("host", "its certificate is not valid: IP address mismatch, certificate is not valid for '127.0.0.1'"),
        ("date", "its certificate is not valid: certificate has expired"),
        ("protocol", "TLS failed: the receiver uses no TLS, or another version of it"),
    ],
)
async def test_a_certificate_must_be_right(send: Send, tmp_path: Path, wrong: str | None, said: str) -> None:
    ours, other = Authority.new(tmp_path, "ours"), Authority.new(tmp_path, "other")
    name = "elsewhere.example" if wrong == "host" else "127.0.0.1"
    shown = (other if wrong == "authority" else ours).server(name, expired=wrong == "date")
    tls = ssl.create_default_context(cafile=str(ours.file))
    with receiving_webhooks(None if wrong == "protocol" else shown) as receiver:
        answer = await send(receiver.url.replace("http://", "https://"), tls=tls)
    assert answer.said == said
    assert len(receiver.received) == (1 if wrong is None else 0)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "[::1]",
        "localhost",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "169.254.169.254",
        "10.0.0.1",
        "0.0.0.0",  # noqa: S104 - nothing listens there
    ],
)
async def test_nothing_is_sent_into_the_own_network_however_it_is_written(send: Send, host: str) -> None:
    answer = await send(f"https://{host}:{free_port()}/", private=False, within=3)
    assert answer.status is None
    assert answer.said.endswith("is not a public address; TAMIS_WEBHOOK_PRIVATE=true allows it") or (
        answer.said == "the URL cannot be called"
    )


async def test_http_is_for_those_who_allow_it(send: Send) -> None:
    with receiving_webhooks() as receiver:
        answer = await send(receiver.url, private=False)
    assert answer == DeliveryAnswer(None, "not sent: http is not encrypted; TAMIS_WEBHOOK_PRIVATE=true allows it")
    assert receiver.received == []


async def test_a_name_that_leads_elsewhere_at_the_second_look_up_leads_nowhere(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is the address that is connected to, not one that was looked up to be judged."""
    seen: list[str] = []

    class Rebinding(aiohttp.abc.AbstractResolver):
        async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[Any]:
            address = "127.0.0.1" if seen else "203.0.113.7"
            seen.append(address)
            entry = {"hostname": host, "host": address, "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}
            return [entry, entry | {"host": "169.254.169.254"}]

        async def close(self) -> None:
            """Nothing is open."""

    monkeypatch.setattr("aiohttp.connector.DefaultResolver", lambda *_, **__: Rebinding())
    for address in ("203.0.113.7", "127.0.0.1"):
        answer = await send("https://rebinding.example/", private=False, within=3)
        assert answer.said == f"not sent: {address} is not a public address; TAMIS_WEBHOOK_PRIVATE=true allows it"


async def test_many_tries_at_once_are_told_apart(send: Send) -> None:
    sender = Sender(SecretStr(SECRET), private=True)
    with receiving_webhooks() as receiver:
        ids = [uuid4() for _ in range(20)]
        answers = await asyncio.gather(*(sender.send(one, receiver.url, json.dumps(str(one))) for one in ids))
    await sender.close()
    assert all(answer.delivered for answer in answers)
    assert {one.id: one.verified() for one in receiver.received} == {str(one): str(one) for one in ids}
