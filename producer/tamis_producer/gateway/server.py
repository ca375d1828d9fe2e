"""The gateway as a process: uvicorn around the application, until it is told to stop."""

import signal
import sys

import uvicorn

from ..client import Client
from .app import create_app

STOP_WITHIN = 10  # s, for requests that are being answered


def serve(client: Client, *, host: str, port: int) -> None:
    """Answer until SIGTERM or Ctrl-C; on the main thread.

    Behind a proxy that speaks TLS, where requests come from other machines.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn raises it again when it has stopped
    uvicorn.run(
        create_app(client),
        host=host,
        port=port,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=STOP_WITHIN,
    )
