"""One try to send a webhook, or a Celery task in its place, and the result of the try in a few words.

A webhook is a signed request to a public address. A user who may submit a batch chooses the URL, but the worker that
calls the URL is inside a private network. So private addresses are refused unless the operator allows them. A task goes
through the broker.

Only the status of the receiver's answer is read. If the answer's body were read, the ledger would store it. Users could
then read the answers of servers that only this machine reaches.
"""

import asyncio
import json
import os
import socket
import ssl
from contextvars import ContextVar
from datetime import UTC, datetime
from http import HTTPStatus
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import aiohttp
from celery import Celery
from pydantic import SecretStr
from standardwebhooks import Webhook

from tamis_producer.transport.broker import broker_errors
from tamis_schemas import BrokerUnavailable
from tamis_schemas.batches.callback import SCHEME, OnComplete

from ..llm.call_error import retry_after
from .schedule import DeliveryAnswer

ANSWER_WITHIN = 15.0  # s, from the name look-up to the status
USER_AGENT = "tamis-webhooks"
ALLOW = "TAMIS_WEBHOOK_PRIVATE=true allows it"

_refused: ContextVar[list[str]] = ContextVar("addresses that the present try must not be sent to")

GLOBAL_UNICAST = IPv6Network("2000::/3")  # all host addresses; the rest is local, multicast or reserved
NAT64 = IPv6Network("64:ff9b::/96")  # an IPv4 address in the last 32 bits (RFC 6052)
# These networks contain IPv4 addresses, to which a relay would send the packets (RFC 3056, RFC 4380).
TUNNELS = (IPv6Network("2002::/16"), IPv6Network("2001::/32"))
RELAYS = IPv4Network("192.88.99.0/24")  # relays to the first of `TUNNELS`; deprecated (RFC 7526)


class PrivateAddress(OSError):
    """Raised for a webhook to an address that is not public, such as one in the worker's private network."""


class Sender:
    """The sender of webhooks, signed as Standard Webhooks specifies. Use the object on one event loop."""

    def __init__(
        self,
        secret: SecretStr,
        *,
        private: bool = False,
        tls: ssl.SSLContext | None = None,
        within: float = ANSWER_WITHIN,
    ) -> None:
        """Prepare the sender, without a connection.

        `private`: allow http, and addresses that are not public. `tls`: the settings of TLS; None: trust the system's
        authorities. `within`: seconds that a try may take.
        """
        self._webhook = Webhook(secret.get_secret_value())
        self._private = private
        self._tls = tls or ssl.create_default_context()
        self._within = within
        self._session: aiohttp.ClientSession | None = None

    async def send(self, webhook_id: UUID, url: str, body: str, now: datetime | None = None) -> DeliveryAnswer:
        """Send a webhook once, and return the receiver's answer. `now`: the signed time; None: the present."""
        if urlsplit(url).scheme != "https" and not self._private:
            return DeliveryAnswer(None, f"not sent: http is not encrypted; {ALLOW}")
        at, headers = now or datetime.now(UTC), {"Content-Type": "application/json", "User-Agent": USER_AGENT}
        headers |= {
            "webhook-id": str(webhook_id),
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": self._webhook.sign(str(webhook_id), at, body),
        }
        refused: list[str] = []
        _refused.set(refused)
        try:
            async with self._opened().post(url, data=body.encode(), headers=headers, allow_redirects=False) as reply:
                return DeliveryAnswer(reply.status, _said(reply.status), retry_after(reply.headers))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            if refused:  # even if other addresses of the name were tried without an answer
                return DeliveryAnswer(None, f"not sent: {refused[0]} is not a public address; {ALLOW}")
            return DeliveryAnswer(None, _why(error, self._within))

    async def close(self) -> None:
        """Close open connections."""
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        """Return the session, without cookies, proxies or persistent connections."""
        if self._session is None:
            connector = aiohttp.TCPConnector(
                ssl=self._tls, use_dns_cache=False, force_close=True, limit=0, socket_factory=self._socket
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=self._within),
                trust_env=False,
            )
        return self._session

    def _socket(self, address: tuple[Any, ...]) -> socket.socket:
        """Return a socket for the address to connect to. Raise `PrivateAddress` if the address is not allowed.

        The check is here, because a check at the look-up of the name is not enough: a second look-up could return
        another address.
        """
        family, kind, protocol, _, host_port = address
        if not self._private and not is_public(str(host_port[0])):
            _refused.get().append(str(host_port[0]))
            raise PrivateAddress(f"{host_port[0]} is not a public address")
        opened = socket.socket(family, kind, protocol)
        opened.setblocking(False)
        return opened


def _said(status: int) -> str:
    if 300 <= status < 400:
        return f"answered {status}: redirects are not followed; name the final URL"
    return f"answered {status}"


def _why(error: Exception, within: float) -> str:
    """Return the cause of an error in a few words, without text from the receiver."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            inner = error.certificate_error
            why = str(getattr(inner, "verify_message", "")).rstrip(".") or type(inner).__name__
            return f"its certificate is not valid: {why}"
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return "TLS failed: the receiver uses no TLS, or another version of it"
        case aiohttp.ClientConnectorDNSError():
            return "its host name is unknown"
        case TimeoutError():
            return f"no answer within {within:g} s"
        case aiohttp.ClientConnectorError():
            return f"no connection: {os.strerror(error.os_error.errno) if error.os_error.errno else 'refused'}"
        case aiohttp.ClientResponseError() | aiohttp.ClientPayloadError():
            return "its answer is not HTTP"
        case aiohttp.InvalidURL() | ValueError():
            return "the URL cannot be called"
        case _:
            return f"the connection broke: {type(error).__name__}"


def is_task(url: str) -> bool:
    """Return whether a URL in the outbox addresses a Celery task instead of a receiver of webhooks."""
    return url.startswith(f"{SCHEME}:")


class TaskSender:
    """The sender of Celery tasks in place of webhooks.

    The task id is the webhook's id in the outbox, so receivers can recognise a repeated try.
    """

    def __init__(self, app: Celery) -> None:
        self._app = app

    async def send(self, webhook_id: UUID, url: str, body: str) -> DeliveryAnswer:
        """Send a task once, and return the result. A task counts as delivered if the broker accepts it."""
        written = json.loads(body)
        task = OnComplete.model_validate(written["task"])
        try:
            await asyncio.to_thread(self._publish, str(webhook_id), task, written["data"])
        except BrokerUnavailable as error:
            return DeliveryAnswer(None, str(error))
        return DeliveryAnswer(HTTPStatus.ACCEPTED, f"sent to the queue {task.queue}")

    async def close(self) -> None:
        """Do nothing: the application belongs to the worker."""

    def _publish(self, task_id: str, task: OnComplete, data: dict[str, Any]) -> None:
        with broker_errors(self._app):
            self._app.send_task(
                task.task,
                args=task.args if task.immutable else [data, *task.args],
                kwargs=task.kwargs,
                queue=task.queue,
                task_id=task_id,
                retry=False,  # the outbox retries
                ignore_result=False,
                add_to_parent=False,
            )


def is_public(address: str) -> bool:
    """Return whether a text is the IP address of a single host on the internet."""
    try:
        number = ip_address(address)
    except ValueError:
        return False
    return _is_public_v4(number) if isinstance(number, IPv4Address) else _is_public_v6(number)


def _is_public_v4(address: IPv4Address) -> bool:
    return address.is_global and not address.is_multicast and address not in RELAYS


def _is_public_v6(address: IPv6Address) -> bool:
    if address.ipv4_mapped is not None:
        return _is_public_v4(address.ipv4_mapped)
    if address in NAT64:
        return _is_public_v4(IPv4Address(int(address) & 0xFFFFFFFF))
    if address not in GLOBAL_UNICAST or any(address in tunnel for tunnel in TUNNELS):
        return False
    return address.is_global and not address.scope_id
