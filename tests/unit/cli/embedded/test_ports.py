"""A free port for a server is one that no connection of another program takes meanwhile."""

import socket

import pytest

from tamis_cli.embedded import ports
from tamis_cli.embedded.ports import HOST, SERVERS, free_port


def test_no_outgoing_connection_is_given_a_port_of_servers() -> None:
    with socket.socket() as given_by_the_system:
        given_by_the_system.bind((HOST, 0))
        assert given_by_the_system.getsockname()[1] not in SERVERS
    assert free_port() in SERVERS


def test_a_port_that_is_taken_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    wish = free_port()
    with socket.create_server((HOST, wish)):
        monkeypatch.setattr(ports, "SERVERS", range(wish, wish + 9))
        assert wish not in {free_port(wish) for _ in range(90)}
    assert free_port(wish) == wish
