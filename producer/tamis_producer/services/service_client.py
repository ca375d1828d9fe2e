"""The client of a service: the one that it was given, or one of its own."""

from threading import Lock

from ..client.client import Client


class ServiceClient:
    """Connects on first use, and anew after `close`; may be used in any thread."""

    def __init__(self, client: Client | None) -> None:
        """`client` stays open. None: a client of its own, after the settings of the process."""
        self._given = client
        self._own: Client | None = None
        self._lock = Lock()

    @property
    def connected(self) -> Client:
        """The client. Raises `ConfigurationError` where no broker or ledger is named."""
        if self._given is not None:
            return self._given
        with self._lock:
            self._own = self._own or Client()
            return self._own

    def close(self) -> None:
        """Give its own connections back; a client that was given stays open."""
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            own.close()
