"""Flower behind a password, on 127.0.0.1 unless the settings say otherwise."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tamis_schemas import ConfigurationError
from tamis_worker.config.settings import is_loopback

from .flower_options import FLOWER, PASSWORD_FILE, USER, USUAL_PORT, flower_environment
from .orphans import ChildrenFile
from .part import WebPart
from .ports import HOST
from .process import Command
from .secret_file import kept_secret

EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - told apart, not listened on


class Flower(WebPart):
    """Shows, and changes nothing: what is to happen with a batch is said to Tamis, whose ledger is the truth."""

    start_within: ClassVar[float] = 60.0
    title: ClassVar[str] = "Flower"
    health_path: ClassVar[str] = "/healthcheck"

    def __init__(
        self,
        home: Path,
        environment: Mapping[str, str],
        children: ChildrenFile | None = None,
        *,
        usual_port: int | None = USUAL_PORT,
        address: str = HOST,
        password: str | None = None,
    ) -> None:
        """`password`: None: a random one, kept under `home`. For another address than 127.0.0.1 one must be given."""
        super().__init__("flower", children)
        self._home = home
        self._environment = environment
        self.usual_port = usual_port
        if password is None and not is_loopback(address):
            raise ConfigurationError(f"Flower does not listen on {address!r} without a password of your own")
        self._address = address
        self.host = HOST if address in EVERYWHERE else address
        self._password = password

    @property
    def password(self) -> str:
        return self._password or kept_secret(self._home / PASSWORD_FILE)

    @property
    def url(self) -> str:
        """The URL with user and password. Raises `RuntimeError` where Flower was never started."""
        return f"http://{USER}:{self.password}@{self.place}"

    @property
    def place(self) -> str:
        """Address and port, for a browser on this machine where it listens on all."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def prepare(self) -> Command:
        port = self.choose_port()
        options = flower_environment(
            self._home, self._environment, address=self._address, port=port, password=self.password
        )
        return Command(name=self.name, argv=FLOWER, log=self._home / "log" / "flower.log", env=options)
