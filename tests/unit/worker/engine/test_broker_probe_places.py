"""Trouble of the broker is told of the broker, and not of another server that happens to be asked."""

import pytest

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
