"""One try of a webhook: a signed request to a public address, and what came of it in a few words.

What the receiver says beyond its status is not read: it would stand in the ledger, and whoever named the URL could read
there what a server answers that only this machine reaches.
"""

import os
import socket
import ssl
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import aiohttp
from pydantic import SecretStr
from standardwebhooks import Webhook

from ..llm.call_error import retry_after
from .addresses import is_public
from .schedule import Answer

ANSWER_WITHIN = 15.0  # s, from the look-up of the name to the status
USER_AGENT = "tamis-webhooks"
ALLOW = "TAMIS_WEBHOOK_PRIVATE=true allows it"

_refused: ContextVar[list[str]] = ContextVar("addresses that the present try must not be sent to")


class PrivateAddress(OSError):
    """A webhook was about to be sent into the worker's own network."""


class Sender:
    """Sends webhooks, signed as Standard Webhooks says; used on one loop, from `open` to `close`."""

    def __init__(
        self,
        secret: SecretStr,
        *,
        private: bool = False,
        tls: ssl.SSLContext | None = None,
        within: float = ANSWER_WITHIN,
    ) -> None:
        """`private`: http and addresses that are not public are allowed; `tls`: None for the system's authorities."""
        self._webhook = Webhook(secret.get_secret_value())
        self._private = private
        self._tls = tls or ssl.create_default_context()
        self._within = within
        self._session: aiohttp.ClientSession | None = None

    async def send(self, webhook_id: UUID, url: str, body: str, now: datetime | None = None) -> Answer:
        """Send one try and return what came of it; `now`: the time that is signed, None for the present."""
        if urlsplit(url).scheme != "https" and not self._private:
            return Answer(None, f"not sent: http is not encrypted; {ALLOW}")
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
                return Answer(reply.status, _said(reply.status), retry_after(reply.headers))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            if refused:  # also where other addresses of the name were tried, and none of them answered
                return Answer(None, f"not sent: {refused[0]} is no public address; {ALLOW}")
            return Answer(None, _why(error, self._within))

    async def close(self) -> None:
        """Close what is open."""
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        """The session, without cookies, proxies, or connections that outlive a request."""
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
        """The socket for an address that was looked up, or stood in the URL: exactly that one is connected to.

        Here, and not where the name is looked up: a second look-up could find another address.
        """
        family, kind, protocol, _, where = address
        if not self._private and not is_public(str(where[0])):
            _refused.get().append(str(where[0]))
            raise PrivateAddress(f"{where[0]} is no public address")
        opened = socket.socket(family, kind, protocol)
        opened.setblocking(False)
        return opened


def _said(status: int) -> str:
    if 300 <= status < 400:
        return f"answered {status}: redirections are not followed; name the URL that it leads to"
    return f"answered {status}"


def _why(error: Exception, within: float) -> str:
    """In a few words, without what the other side has written."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            inner = error.certificate_error
            why = str(getattr(inner, "verify_message", "")).rstrip(".") or type(inner).__name__
            return f"its certificate is not valid: {why}"
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return "TLS failed: it speaks another protocol, or none"
        case aiohttp.ClientConnectorDNSError():
            return "its name is not known"
        case TimeoutError():
            return f"no answer within {within:g} s"
        case aiohttp.ClientConnectorError():
            return f"no connection: {os.strerror(error.os_error.errno) if error.os_error.errno else 'refused'}"
        case aiohttp.ClientResponseError() | aiohttp.ClientPayloadError():
            return "what it answered is no HTTP"
        case aiohttp.InvalidURL() | ValueError():
            return "the URL cannot be called"
        case _:
            return f"the connection ended: {type(error).__name__}"
