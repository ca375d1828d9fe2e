"""One HTTP question to a server on this machine."""

from http.client import HTTPConnection, HTTPException

from .ports import HOST

WITHIN = 2.0  # seconds


def answers(port: int, path: str, *, host: str = HOST) -> bool:
    """True where a GET of `path` is answered with status 200; False for any other answer, and for none."""
    connection = HTTPConnection(host, port, timeout=WITHIN)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False  # nobody listens yet, or it is busy starting
    finally:
        connection.close()
