"""Flower on 127.0.0.1, behind a password."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from .http_check import answers
from .orphans import ChildrenFile
from .part import Part
from .ports import HOST, free_port
from .process import Command
from .secret_file import kept_secret

USER = "tamis"
USUAL_PORT = 5555
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
    ) -> None:
        super().__init__("flower", children)
        self._home = home
        self._environment = environment
        self._usual_port = usual_port
        self._port: int | None = None

    @property
    def password(self) -> str:
        return kept_secret(self._home / "flower.password")

    @property
    def url(self) -> str:
        """With user and password. Raises `RuntimeError` where Flower was never started."""
        if self._port is None:
            raise RuntimeError("flower was not started: it has no port yet")
        return f"http://{USER}:{self.password}@{HOST}:{self._port}"

    def prepare(self) -> Command:
        if self._port is None:
            self._port = free_port(self._usual_port)
        inherited = {name: value for name, value in self._environment.items() if not name.startswith("FLOWER_")}
        options = {
            "FLOWER_ADDRESS": HOST,
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
        return self._port is not None and answers(self._port, "/healthcheck")
