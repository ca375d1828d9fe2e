"""Flower behind a password, on 127.0.0.1 unless the settings say otherwise."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tamis_schemas import ConfigurationError
from tamis_worker.settings import is_loopback

from .http_check import answers
from .orphans import ChildrenFile
from .part import Part
from .ports import HOST, free_port
from .process import Command
from .secret_file import kept_secret

USER = "tamis"
USUAL_PORT = 5555
PASSWORD_FILE = "flower.password"  # noqa: S105 - the name of a file
EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - told apart, not listened on
SAVE_EVERY = 60_000  # milliseconds: what a killed Flower forgets


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
        inherited = {name: value for name, value in self._environment.items() if not name.startswith("FLOWER_")}
        options = {
            "FLOWER_ADDRESS": self._address,
            "FLOWER_PORT": str(self._port),
            # By environment: a command line is everybody's to read.
            "FLOWER_BASIC_AUTH": f"{USER}:{self.password}",
            "FLOWER_COOKIE_SECRET": kept_secret(self._home / "flower.cookie"),
            "FLOWER_PERSISTENT": "true",
            "FLOWER_DB": str(self._home / "flower.db"),
            "FLOWER_STATE_SAVE_INTERVAL": str(SAVE_EVERY),
            "FLOWER_READ_ONLY": "true",
            "FLOWER_TASKS_COLUMNS": "name,args,state,received,runtime,worker",  # the arguments name the item
            # Otherwise a flowerconfig.py in the folder where we stand would be run.
            "FLOWER_CONF": os.devnull,
        }
        return Command(
            name=self.name,
            argv=(sys.executable, "-m", "celery", "--app", "tamis_worker.embedded.flower_app:app", "flower"),
            log=self._home / "log" / "flower.log",
            env=inherited | options,
        )

    def healthy(self) -> bool:
        host = HOST if self._address in EVERYWHERE else self._address
        return self._port is not None and answers(self._port, "/healthcheck", host=host)
