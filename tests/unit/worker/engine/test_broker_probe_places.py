"""Trouble of the broker is told of the broker, and not of another server that happens to be asked."""

import socket
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from tamis_producer.config.redis_clients import leave_replicas
from tamis_worker.engine.backpressure import Backpressure, BrokerProbe, RequiredServer


@pytest.mark.parametrize(
    ("broker", "held_back"), [("redis://127.0.0.1:1/0", True), ("amqp://guest:guest@127.0.0.1:1//", False)]
)
def test_what_a_broker_refuses_holds_the_worker_back_only_where_it_can_be_asked_again(
    broker: str, *, held_back: bool
) -> None:
    backpressure = Backpressure()
    probe = BrokerProbe([broker, "redis://127.0.0.1:2/2"], backpressure)
    probe.noticed(ConnectionError("the connection was lost"))
    assert backpressure.in_trouble(RequiredServer.BROKER) is held_back


class Connected:
    """A connection of a thread, which waits for an answer."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock


class Answering:
    """A client that meets these errors, and then gets answers."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)

    async def set(self, *_: Any, **__: Any) -> None:
        if self._errors:
            raise self._errors.pop(0)


@pytest.mark.parametrize(
    ("error", "cut"), [(redis.TimeoutError("silent"), True), (redis.ConnectionError("refused"), False)]
)
async def test_other_connections_are_cut_when_an_answer_follows_silence(error: Exception, *, cut: bool) -> None:
    probe, client = BrokerProbe(["redis://127.0.0.1:1/0"], Backpressure()), Answering(error)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        waiting = leave_replicas(SimpleNamespace(connection_class=Connected)).connection_class(ours)
        await probe._look("127.0.0.1:1", client)  # type: ignore[arg-type]
        with pytest.raises(BlockingIOError):
            theirs.recv(1)
        await probe._look("127.0.0.1:1", client)  # type: ignore[arg-type]
        if cut:
            assert theirs.recv(1) == b""
        else:
            with pytest.raises(BlockingIOError):
                theirs.recv(1)
        assert waiting._sock is ours
