"""The channel to Redis: how a worker takes messages while it holds back, or from a server that is in trouble.

Kombu's own way ends the process where Redis hands out a message and then refuses to note that it did, as a full one
does; and where it cannot put messages back at the end of a connection that is lost. Here the message is taken, or left,
all the same: the ledger knows what is done and what is not, so Redis need not.
"""

import json
import logging
from collections.abc import Callable
from functools import partial
from queue import Empty
from typing import Any

from kombu.transport import redis as redis_transport
from kombu.transport.virtual import QoS
from redis.exceptions import DataError, ResponseError

from tamis_schemas.batches import wire

from . import foreign_reason

log = logging.getLogger(__name__)


def install_resilient_qos(
    channel: Any,
    holds_back: Callable[[], bool],
    refused: Callable[[Exception], None],
    no_message: Callable[[str, bytes, str], None],
) -> None:
    """Have a consumer's channel take nothing while `holds_back()`, and survive what Redis refuses and what it holds.

    `refused` is told of such a refusal; `no_message`, of what is in a queue without being a message: the queue, the
    bytes, and what is wrong. Before the first message; channels of other brokers stay as they are.
    """
    if not isinstance(channel, redis_transport.Channel):
        return
    usual = channel.qos
    usual.restore_unacked_once()  # nothing is there yet; without this, it would be done at the end of the process
    channel._qos = ResilientQoS(channel, usual.prefetch_count, holds_back, refused)
    read = channel.handlers["BRPOP"]
    client = channel.client
    parse_response = client.parse_response
    latest: list[Any] = [None]

    def remember(connection: Any, command: str, **options: Any) -> Any:
        latest[0] = parse_response(connection, command, **options)
        return latest[0]

    def read_or_nothing(**options: Any) -> Any:
        try:
            return read(**options)
        except ResponseError as error:
            refused(error)
            raise Empty from error  # as if no message had come
        except (ValueError, TypeError, LookupError, AttributeError, DataError, RecursionError) as error:
            queue, raw = latest[0] or (b"", b"")
            if is_message(raw):
                raise
            name = queue.decode(errors="replace").removeprefix(wire.KEY_PREFIX)
            no_message(name.rsplit(channel.sep, 1)[0], raw, foreign_reason.no_message(error))
            raise Empty from error
        finally:
            latest[0] = None

    client.parse_response = remember

    channel.handlers["BRPOP"] = read_or_nothing


def is_message(raw: bytes) -> bool:
    """Return whether kombu can make a message of an element of a list, and put it back into its queue."""
    try:
        envelope = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    match envelope:
        case {"properties": {"delivery_tag": str(), "delivery_info": {"exchange": str(), "routing_key": str()}}}:
            headers, body = envelope.get("headers"), envelope.get("body")
            return isinstance(headers, dict | None) and isinstance(body, str | None)
    return False


class ResilientQoS(redis_transport.QoS):  # type: ignore[misc] # kombu ships no types
    """The messages that were delivered and are not acknowledged, in this process and, where it takes that, in Redis."""

    def __init__(
        self, channel: Any, prefetch_count: int, holds_back: Callable[[], bool], refused: Callable[[Exception], None]
    ) -> None:
        super().__init__(channel, prefetch_count)
        self._holds_back = holds_back
        self._refused = refused

    def can_consume(self) -> bool:
        return not self._holds_back() and bool(super().can_consume())

    def append(self, message: Any, delivery_tag: str) -> None:
        try:
            super().append(message, delivery_tag)
        except ResponseError as error:
            self._refused(error)
            QoS.append(self, message, delivery_tag)

    def ack(self, delivery_tag: str) -> None:
        self._release(delivery_tag, super().ack)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        self._release(delivery_tag, partial(super().reject, requeue=requeue))

    def _release(self, delivery_tag: str, release: Callable[[str], None]) -> None:
        """Release a message here in any case: one that Redis still has comes again, and costs nothing."""
        try:
            release(delivery_tag)
        except Exception as error:  # of any kind: where its connection is gone, kombu has no error of its own for that
            log.debug("a message could not be acknowledged: %s", error)
            if isinstance(error, ResponseError):
                self._refused(error)
            QoS.ack(self, delivery_tag)  # or it would take a place here for good

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """Put what is not acknowledged back into its queue, where Redis takes it; at the end of a connection."""
        try:
            super().restore_unacked_once(stderr)
        except Exception as error:  # kombu's own errors among them, which would end the process
            log.debug("messages are left to the reconciler and to their visibility timeout: %s", error)

    def restore_visible(self, *args: Any, **kwargs: Any) -> None:
        if self._holds_back():
            return
        try:
            super().restore_visible(*args, **kwargs)
        except ResponseError as error:
            self._refused(error)
