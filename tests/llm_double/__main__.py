"""`python -m llm_double --port 0`: run the double, and print its URL as the first line."""

import argparse
import asyncio
import json
import sys

from aiohttp import web

from .script import Options
from .server import Server

BACKLOG = 2048  # a worker opens all its connections at once


async def _serve(port: int, options: Options, with_parent: bool) -> None:
    # A client that goes away ends its call, as on a real server: the slot is free again.
    runner = web.AppRunner(Server(options).app(), access_log=None, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=BACKLOG)
    await site.start()
    host, bound = runner.addresses[0][:2]
    print(f"http://{host}:{bound}/v1", flush=True)  # noqa: T201 (the first line of output is the interface)
    try:
        if with_parent:
            await asyncio.to_thread(sys.stdin.read)  # ends with the parent, however that ends
        else:
            await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="llm_double", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--options", type=json.loads, default={}, help="llm_double.Options, as JSON")
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input ends")
    given = parser.parse_args()
    try:
        asyncio.run(_serve(given.port, Options.from_json(given.options), given.with_parent))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
