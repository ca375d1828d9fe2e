"""The programs of Tamis in a stack: its workers, Flower, and the gateway with its page."""

import getpass
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from tamis_producer.config.private_file import kept_secret, read_private, write_private
from tamis_producer.gateway import api_keys
from tamis_producer.ledger import connect
from tamis_schemas import ConfigurationError
from tamis_worker.config.settings import is_loopback
from tamis_worker.liveness.watchdog import EXIT_STALLED, AliveFile

from .flower_options import FLOWER, FLOWER_PORT, PASSWORD_FILE, USER, flower_environment
from .part import Part, WebPart
from .ports import HOST
from .process import ChildrenFile, Command

STOP_WITHIN = 30.0  # seconds for calls in flight to return
EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on
PAGE_PORT = 8080
KEY_FILE = "page.key"


class WorkerProgram(Part):
    """A process of `python -m tamis_cli worker`. It is healthy once its ready file exists."""

    title: ClassVar[str] = "a worker"

    def __init__(
        self,
        number: int,
        home: Path,
        environment: Mapping[str, str],
        children: ChildrenFile | None = None,
        *,
        stop_within: float = STOP_WITHIN,
    ) -> None:
        name = f"worker-{number}"
        super().__init__(name, home / "log" / f"{name}.log", environment, children)
        self._ready = home / "ready" / name
        self._alive = home / "alive" / name
        self._stop_within = stop_within

    def prepare(self) -> Command:
        for file in (self._ready, self._alive):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)
        files = ("--ready-file", str(self._ready), "--alive-file", str(self._alive))
        return replace(self.command(sys.executable, "-m", "tamis_cli", "worker", *files), stop_within=self._stop_within)

    def how_it_ended(self) -> str:
        alive = AliveFile.read(self._alive) if self.process.returncode == EXIT_STALLED else None
        return (alive.stalled if alive else None) or super().how_it_ended()

    def healthy(self) -> bool:
        return self._ready.exists()


class Flower(WebPart):
    """Flower, the monitor of the queue. It needs a password, and listens on 127.0.0.1 by default.

    It is read-only, because commands for batches must go to Tamis, whose ledger is authoritative.
    """

    title: ClassVar[str] = "Flower"
    health_path: ClassVar[str] = "/healthcheck"

    def __init__(
        self,
        home: Path,
        environment: Mapping[str, str],
        children: ChildrenFile | None = None,
        *,
        usual_port: int | None = FLOWER_PORT,
        address: str = HOST,
        password: str | None = None,
    ) -> None:
        """Prepare Flower, without starting it.

        Without a `password`, a random password is kept under `home`. An `address` that other machines can reach needs a
        `password`. `usual_port` is used if it is free. If it is None or taken, a free port is chosen.
        """
        super().__init__("flower", home / "log" / "flower.log", environment, children)
        self._home = home
        self.usual_port = usual_port
        if password is None and not is_loopback(address):
            raise ConfigurationError(f"to listen on {address!r}, Flower needs your own TAMIS_FLOWER_PASSWORD")
        self._address = address
        self.host = HOST if address in EVERYWHERE else address
        self._password = password

    @property
    def password(self) -> str:
        return self._password or kept_secret(self._home / PASSWORD_FILE)

    @property
    def url(self) -> str:
        """Return the URL with user and password. Raise `RuntimeError` if Flower was never started."""
        return f"http://{USER}:{self.password}@{self.place}"

    @property
    def place(self) -> str:
        """Return address and port for a browser on this machine, even if Flower listens on all addresses."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def prepare(self) -> Command:
        port = self.choose_port()
        options = flower_environment(
            self._home, self._environment, address=self._address, port=port, password=self.password
        )
        return replace(self.command(sys.executable, "-m", *FLOWER), env=options)


class Gateway(WebPart):
    """The HTTP gateway with its page, on 127.0.0.1: `python -m tamis_cli serve`.

    The file `KEY_FILE` has an API key of the stack's user, with all scopes (rights).
    """

    title: ClassVar[str] = "the gateway and its page"
    health_path: ClassVar[str] = "/healthz"

    def __init__(
        self,
        home: Path,
        environment: Mapping[str, str],
        children: ChildrenFile | None = None,
        *,
        usual_port: int | None = PAGE_PORT,
    ) -> None:
        super().__init__("gateway", home / "log" / "gateway.log", environment, children)
        self._home = home
        self.usual_port = usual_port

    @property
    def url(self) -> str:
        """Return the URL for a browser on this machine. Raise `RuntimeError` if the gateway was never started."""
        return f"http://{HOST}:{self.port}/"

    @property
    def sign_in_url(self) -> str:
        """Return the page's URL with the key after a `#`. Browsers never send this part of a URL."""
        return f"{self.url}#key={read_private(self._home / KEY_FILE).strip()}"

    def prepare(self) -> Command:
        address = ("--host", HOST, "--port", str(self.choose_port()))
        return self.command(sys.executable, "-m", "tamis_cli", "serve", *address)


def keep_key(database_url: str, path: Path) -> None:
    """Create an API key with all scopes (rights), and write it to `path`, unless `path` has a valid key already.

    The key is named after the present user.

    Raises:
        LedgerUnavailable: the ledger does not answer.
    """
    engine = connect(database_url)
    try:
        if path.exists() and api_keys.find(engine, read_private(path).strip()) is not None:
            return
        write_private(path, api_keys.create(engine, _user(), list(api_keys.Scope)))
    finally:
        engine.dispose()


def _user() -> str:
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        name = ""
    return name if name.strip() and name.isprintable() else "this machine"
