"""The gateway as a process: uvicorn around the application, until it is told to stop."""

import gc
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from tamis_schemas import ConfigurationError

from ..client.client import Client
from .app import create_app
from .extension import Application
from .protocol import PatientProtocol

STOP_WITHIN = 10  # s, for requests that are being answered
# s for which a thread may compute while others wait; the usual 5 ms would be waited several times in each request while
# bodies are read and results written.
TURN = 0.0005
ACCEPTED = 32  # callers who are taken in one round of the event loop: others have their turn between two rounds
WAITING = 2_048  # callers who may wait to be taken


class _Server(uvicorn.Server):
    """One that takes few callers in a round and turns nobody away; asyncio knows one number for both."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(WAITING)
        gc.collect()
        gc.freeze()  # what stands now stands to the end; to look through it again took 150 ms at a time


def serve(client: Client, *, host: str, port: int, ready: Callable[[], None], application: Application) -> None:
    """Answer until SIGTERM or Ctrl-C; on the main thread. `ready` is called once requests are taken.

    `application`: as `create_app` takes it.

    Behind a proxy that speaks TLS, where requests come from other machines.

    Raises `ConfigurationError`: nobody can listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (")[0]  # behind it the address, once more
        raise ConfigurationError(
            f"the gateway cannot listen at {host}:{port}: {why}; say another --host or --port"
        ) from error
    sys.setswitchinterval(TURN)
    with listening:
        ready()
        app = create_app(client, application=application, stops=lambda: server.should_exit)
        # Its log lines go where those of the command line go, and through the same filter.
        config = uvicorn.Config(
            app,
            http=PatientProtocol,
            ws="none",
            backlog=ACCEPTED,
            loop="asyncio",  # it takes whoever waits at once; uvloop takes one caller in each round of the loop
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=STOP_WITHIN,
        )
        server = _Server(config)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn raises it again when it has stopped
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
