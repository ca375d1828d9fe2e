"""TCP ports on this machine."""

import socket

HOST = "127.0.0.1"


def is_free(port: int) -> bool:
    """Return whether `port` is unused now; it may be taken the next moment."""
    with socket.socket() as probe:
        # As the servers do: a port with closing connections counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_port(wish: int | None = None) -> int:
    """Return `wish` if it is free, else any free port."""
    if wish is not None and is_free(wish):
        return wish
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port
