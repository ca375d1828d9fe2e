"""TCP ports on this machine."""

import socket
from random import SystemRandom

HOST = "127.0.0.1"
SERVERS = range(20_000, 32_000)  # below the ports that systems give to outgoing connections


def is_free(port: int) -> bool:
    """Return whether `port` is unused now. Another process may take the port at any time."""
    with socket.socket() as probe:
        # A port with closing connections counts as free, because the servers can use it.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_port(wish: int | None = None) -> int:
    """Return the port `wish` if it is free, else a random free port in the range `SERVERS`."""
    if wish is not None and is_free(wish):
        return wish
    random = SystemRandom()
    while not is_free(port := random.choice(SERVERS)):
        pass
    return port
