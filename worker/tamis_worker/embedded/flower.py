"""Flower behind a password, on 127.0.0.1 unless the settings say otherwise."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tamis_schemas import ConfigurationError

from ..config.settings import is_loopback
from .flower_options import FLOWER, PASSWORD_FILE, USER, USUAL_PORT, flower_environment
from .http_check import answers
from .orphans import ChildrenFile
from .part import Part
from .ports import HOST, free_port
from .process import Command
from .secret_file import kept_secret

EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - told apart, not listened on


class Flower(Part):
    """Shows, and changes nothing: what is to happen with a batch is said to Tamis, whose ledger is the truth."""

    start_within: ClassVar[float] = 60.0

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
        self._usual_port = usual_port
        self._port: int | None = None
        if password is None and not is_loopback(address):
            raise ConfigurationError(f"Flower does not listen on {address!r} without a password of your own")
        self._address = address
        self._password = password

    @property
    def password(self) -> str:
        return self._password or kept_secret(self._home / PASSWORD_FILE)

    @property
    def url(self) -> str:
        """With user and password. Raises `RuntimeError` where Flower was never started."""
        if self._port is None:
            raise RuntimeError("flower was not started: it has no port yet")
        return f"http://{USER}:{self.password}@{self.place}"

    @property
    def place(self) -> str:
        """Address and port, for a browser on this machine where it listens on all."""
        shown = HOST if self._address in EVERYWHERE else self._address
        return f"[{shown}]:{self._port}" if ":" in shown else f"{shown}:{self._port}"

    def prepare(self) -> Command:
        if self._port is None:
            self._port = free_port(self._usual_port)
        options = flower_environment(
            self._home, self._environment, address=self._address, port=self._port, password=self.password
        )
        return Command(
            name=self.name,
            argv=FLOWER,
            log=self._home / "log" / "flower.log",
            env=options,
        )

    def healthy(self) -> bool:
        host = HOST if self._address in EVERYWHERE else self._address
        return self._port is not None and answers(self._port, "/healthcheck", host=host)
