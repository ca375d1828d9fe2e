"""A RabbitMQ of the distribution, alone on this machine, with data and Erlang names of its own."""

import os
import shutil
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from tamis_cli.embedded.part import Part
from tamis_cli.embedded.ports import HOST, free_port
from tamis_cli.embedded.process import Command, server_environment

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # the one in sbin would become another user first
GREETING = b"AMQP\x00\x00\x09\x01"  # a server that serves answers with a frame of methods
METHOD_FRAME = b"\x01"
ANSWER_WITHIN = 2.0  # s

# Without RabbitMQ these tests are left out; in CI its absence is a failure.
needs_rabbitmq = pytest.mark.skipif(
    not PROGRAM.exists() and not os.environ.get("CI"), reason="no RabbitMQ (apt-get install rabbitmq-server)"
)


CONSUMER_TIMEOUT = 4  # s that a message may stay unacknowledged; half an hour where nobody says otherwise
_IMPATIENT = f"[{{rabbit, [{{consumer_timeout, {1000 * CONSUMER_TIMEOUT}}}, {{channel_tick_interval, 500}}]}}].\n"


class RabbitMq(Part):
    """One node whose data are in `folder`. Its user guest may come from this machine alone.

    Its patience with messages that are not acknowledged is `CONSUMER_TIMEOUT`.
    """

    start_within: ClassVar[float] = 90.0

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        port = free_port(None)
        environment = server_environment() | {
            "HOME": str(self._folder),  # the cookie
            "ERL_EPMD_PORT": str(free_port(None)),  # of Erlang's name server: the machine's own stays as it is
            "ERL_EPMD_ADDRESS": HOST,
            "RABBITMQ_NODENAME": f"tamis-{port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": HOST,
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(free_port(None)),
            "RABBITMQ_MNESIA_BASE": str(self._folder / "data"),
            "RABBITMQ_LOG_BASE": str(self._folder / "log"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(self._folder / "generated"),
            "RABBITMQ_CONFIG_FILE": str(self._folder / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self._folder / "advanced.config"),
            "RABBITMQ_CONF_ENV_FILE": str(self._folder / "rabbitmq-env.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "plugins"),
            "RABBITMQ_PID_FILE": str(self._folder / "pid"),
        }
        super().__init__("rabbitmq", self._folder / "rabbitmq.log", environment)
        self._port = port

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@{HOST}:{self._port}//"

    def prepare(self) -> Command:
        assert PROGRAM.exists(), "no RabbitMQ: apt-get install rabbitmq-server"
        for name in ("data", "log", "generated"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        (self._folder / "rabbitmq.conf").write_text("loopback_users.guest = true\nlog.console = true\n")
        (self._folder / "advanced.config").write_text(_IMPATIENT)
        (self._folder / "rabbitmq-env.conf").touch()
        (self._folder / "plugins").write_text("[].\n")
        return replace(self.command(str(PROGRAM)), stop_within=40.0)

    def healthy(self) -> bool:
        try:
            with socket.create_connection((HOST, self._port), ANSWER_WITHIN) as connection:
                connection.sendall(GREETING)
                return connection.recv(1) == METHOD_FRAME
        except OSError:
            return False

    def ctl(self, *words: str) -> str:
        """What `rabbitmqctl` answers."""
        command = [str(PROGRAM.with_name("rabbitmqctl")), "--quiet", *words]
        return subprocess.run(
            command, env=self._environment, capture_output=True, text=True, timeout=60, check=True
        ).stdout

    def end_names(self) -> None:
        """End the name server, which the node started and left behind."""
        names = shutil.which("epmd")
        if names is not None:
            subprocess.run([names, "-kill"], env=self._environment, capture_output=True, timeout=10, check=False)
