"""The HTTP gateway with its page, on 127.0.0.1, and a key of all scopes for whoever runs the stack."""

import getpass
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tamis_producer.config.private_file import read_private, write_private
from tamis_producer.gateway import api_keys
from tamis_producer.ledger import connect

from .orphans import ChildrenFile
from .part import WebPart
from .ports import HOST
from .process import Command

USUAL_PORT = 8080
KEY_FILE = "page.key"


class Gateway(WebPart):
    """`python -m tamis_cli serve`; its key is in `KEY_FILE` (`keep_key`)."""

    start_within: ClassVar[float] = 60.0
    title: ClassVar[str] = "the gateway and its page"
    health_path: ClassVar[str] = "/healthz"

    def __init__(
        self,
        home: Path,
        environment: Mapping[str, str],
        children: ChildrenFile | None = None,
        *,
        usual_port: int | None = USUAL_PORT,
    ) -> None:
        super().__init__("gateway", children)
        self._home = home
        self._environment = environment
        self.usual_port = usual_port

    @property
    def url(self) -> str:
        """For a browser on this machine. Raises `RuntimeError` where the gateway was never started."""
        return f"http://{HOST}:{self.port}/"

    @property
    def sign_in_url(self) -> str:
        """The URL with the key, as the page takes it: behind the `#`, which browsers send to nobody."""
        return f"{self.url}#key={read_private(self._home / KEY_FILE).strip()}"

    def prepare(self) -> Command:
        port = str(self.choose_port())
        return Command(
            name=self.name,
            argv=(sys.executable, "-m", "tamis_cli", "serve", "--host", HOST, "--port", port),
            log=self._home / "log" / "gateway.log",
            env=self._environment,
        )


def keep_key(database_url: str, path: Path) -> None:
    """Have `path` hold a valid key of all scopes, under the name of this machine's user: the one there, else a new one.

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
    except (KeyError, OSError):  # a container's user need not have a name
        name = ""
    return name if name.strip() and name.isprintable() else "this machine"
