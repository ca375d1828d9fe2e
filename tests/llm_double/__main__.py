"""`python -m llm_double --port 0`: run the double, and print its URL as the first line."""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import replace

from .connection import Connection
from .personalities.personality import Personality
from .personalities.registry import NAMES
from .script import Options
from .server import Server

try:
    import uvloop
except ImportError:  # it does not exist on Windows
    _new_event_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
else:
    _new_event_loop = uvloop.new_event_loop

BACKLOG = 2048  # a worker opens all its connections at once


async def _serve(host: str, port: int, options: Options, with_parent: bool) -> None:
    server = Server(options)
    listening = await asyncio.get_running_loop().create_server(
        lambda: Connection(server.respond), host, port, backlog=BACKLOG
    )
    shown, bound = listening.sockets[0].getsockname()[:2]
    print(f"http://{shown}:{bound}/v1", flush=True)  # noqa: T201 (the first line of output is the interface)
    try:
        if with_parent:
            await asyncio.to_thread(sys.stdin.read)  # ends with the parent, however that ends
        else:
            await asyncio.Event().wait()
    finally:
        listening.close()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="llm_double", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--options", type=json.loads, default={}, help="llm_double.Options, as JSON")
    parser.add_argument(
        "--personality",
        action="append",
        default=[],
        type=_personality,
        help=f'a name, perhaps with parameters (talks:{{"obeys": false}}); repeatable; {", ".join(NAMES)}',
    )
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input ends")
    given = parser.parse_args()
    options = Options.from_json(given.options)
    options = replace(options, personalities=(*options.personalities, *given.personality))
    try:
        with asyncio.Runner(loop_factory=_new_event_loop) as runner:
            runner.run(_serve(given.host, given.port, options, given.with_parent))
    except KeyboardInterrupt:
        return


def _personality(told: str) -> Personality:
    name, _, parameters = told.partition(":")
    return Personality(name, **json.loads(parameters or "{}"))


if __name__ == "__main__":
    main()
