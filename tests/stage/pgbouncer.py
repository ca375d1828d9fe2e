"""A PgBouncer of the distribution, which pools transactions before a Postgres of the tests."""

import os
from pathlib import Path
from typing import ClassVar

import psycopg
import pytest
from sqlalchemy import make_url

from tamis_cli.embedded.part import Part
from tamis_cli.embedded.ports import HOST, free_port
from tamis_cli.embedded.process import Command

PROGRAM = Path("/usr/sbin/pgbouncer")

# Without PgBouncer these tests are left out; in CI its absence is a failure.
needs_pgbouncer = pytest.mark.skipif(
    not PROGRAM.exists() and not os.environ.get("CI"), reason="no PgBouncer (apt-get install pgbouncer)"
)

CONFIGURATION = """
[databases]
* = host={host} port={port} user=postgres
[pgbouncer]
listen_addr = {listen}
listen_port = {own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
"""


class PgBouncer(Part):
    """Four sessions of the server for up to 200 connections, a transaction at a time."""

    start_within: ClassVar[float] = 15.0

    def __init__(self, folder: Path, database_url: str) -> None:
        self._folder = folder.absolute()
        super().__init__("pgbouncer", self._folder / "pgbouncer.log")
        self._behind = make_url(database_url)
        self._port = free_port(None)

    def url(self, *, said: bool = True) -> str:
        """The same database through the pooler; `said`: the URL says so."""
        mark = "?pgbouncer=true" if said else ""
        return f"postgresql+psycopg://postgres@{HOST}:{self._port}/{self._behind.database}{mark}"

    def prepare(self) -> Command:
        assert PROGRAM.exists(), "no PgBouncer: apt-get install pgbouncer"
        self._folder.mkdir(parents=True, exist_ok=True)
        written = CONFIGURATION.format(
            host=self._behind.query["host"], port=self._behind.query["port"], listen=HOST, own=self._port
        )
        configuration = self._folder / "pgbouncer.ini"
        configuration.write_text(written)
        # It does not run as root; whom Postgres runs as may use its socket.
        user = Path(str(self._behind.query["host"])).owner()
        as_another = ("-u", user) if os.geteuid() == 0 else ()
        return self.command(str(PROGRAM), *as_another, str(configuration))

    def healthy(self) -> bool:
        try:
            with psycopg.connect(self.url(said=False).replace("+psycopg", ""), connect_timeout=2):
                return True
        except psycopg.Error:
            return False
