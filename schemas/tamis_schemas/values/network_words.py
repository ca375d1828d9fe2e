"""Plain words for network errors, found in the error messages of aiohttp, asyncio, Redis and Postgres clients."""

import re

_HOST, _PORT = r"\[?(?P<host>[^\s'\"]+?)\]?", r"(?P<port>\d+)"
_ADDRESSES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"connect to host {_HOST}:{_PORT} ssl",  # aiohttp
        rf"connecting to {_HOST}:{_PORT}\.",  # redis
        rf"server at \"{_HOST}\"(?: \([^)]*\))?, port {_PORT}",  # libpq
        rf"call failed \('{_HOST}', {_PORT}",  # asyncio
        rf"resolve host '{_HOST}'(?P<port>)",  # psycopg
    )
)
_UNKNOWN = re.compile(r"\[Errno -[25]\]|Error -[25] |Name or service not known|No address associated|nodename nor")
_UNRESOLVED = re.compile(r"\[Errno -3\]|Error -3 |Temporary failure in name resolution")
_REFUSED = re.compile(r"Connection refused|Connect call failed")


def network_words(text: str) -> str | None:
    """Return a description of the network error in a client's message; None for any other error.

    For example `no server listens at 127.0.0.1:6399`, or `no such host: db.example`.
    """
    if "Too many open files" in text:  # of this process; the texts name the server that it wanted to reach
        return "this process has too many open files: raise its limit (`ulimit -n`)"
    address = next(filter(None, (pattern.search(text) for pattern in _ADDRESSES)), None)
    if address is None:
        return None
    host = address["host"]
    if _UNKNOWN.search(text):
        return f"no such host: {host}"
    if _UNRESOLVED.search(text):
        return f"the name {host} cannot be resolved now"
    if _REFUSED.search(text):
        return f"no server listens at {f'[{host}]' if ':' in host else host}:{address['port']}"
    return None
