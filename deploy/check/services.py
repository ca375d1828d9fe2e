"""The services of docker-compose.yml in a separate Compose project, on free ports, until a `with` block ends."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[2]
PROJECT = "tamis-check"
FILES = ("docker-compose.yml", "deploy/check/docker-compose.check.yml")
HEALTHY_WITHIN = 180.0  # s
COMMAND_WITHIN = 900.0  # s; the image is built by one of them
LOOK_EVERY = 0.5  # s


class CheckFailed(Exception):
    """The error of a check that failed. The message says what is wrong."""


def say(line: str) -> None:
    """Print one line of progress."""
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stdout.flush()


def program(name: str) -> str:
    """Return the path of a program. Raise `CheckFailed` if it is not installed."""
    found = shutil.which(name)
    if found is None:
        raise CheckFailed(f"{name} is not installed")
    return found


def ran(*command: str, env: dict[str, str] | None = None) -> str:
    """Return the output of a command. Raise `CheckFailed`, with both of its outputs, if the command fails."""
    done = subprocess.run(
        command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=COMMAND_WITHIN
    )
    if done.returncode != 0:
        raise CheckFailed(
            f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        )
    return done.stdout


def wait_until(condition: Callable[[], object], *, within: float, what: str) -> None:
    """Wait until `condition()` is true. Raise `CheckFailed` after `within` seconds."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            raise CheckFailed(f"did not happen within {within:g} s: {what}")
        time.sleep(LOOK_EVERY)


def compose_command() -> tuple[str, ...]:
    """Return the command for Compose: v2 if the Docker client has it, else the older program."""
    docker = program("docker")
    probe = subprocess.run([docker, "compose", "version"], capture_output=True, check=False)
    return (docker, "compose") if probe.returncode == 0 else (program("docker-compose"),)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Services:
    """All services except those of a profile. After a failure their logs are printed."""

    def __init__(self, **settings: str) -> None:
        """Choose free ports. `settings`: variables of docker-compose.yml."""
        self.docker = program("docker")
        self._compose = compose_command()
        self._secrets = tempfile.TemporaryDirectory(prefix="tamis-check-secrets-")
        ports = {name: str(free_port()) for name in ("GATEWAY_PORT", "FLOWER_PORT", "DOUBLE_PORT", "PROMETHEUS_PORT")}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("TAMIS_", "OPENAI_"))}
        self._environment = inherited | ports | settings | {"SECRETS_DIR": self._secrets.name}
        self.gateway_port = int(ports["GATEWAY_PORT"])
        self.flower_port = int(ports["FLOWER_PORT"])
        self.double_port = int(ports["DOUBLE_PORT"])
        self.prometheus_port = int(ports["PROMETHEUS_PORT"])

    def __enter__(self) -> Self:
        environment = self._environment | {"TAMIS_LLM_API_KEY": "sk-of-the-check"}
        ran(str(ROOT / "deploy" / "make-secrets"), env=environment)
        try:
            self.compose("build", "migrate")  # one image serves them all
            self.compose("up", "--detach")
            self.wait_until_healthy()
        except BaseException:
            self._end(failed=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(failed=kind is not None)

    def compose(self, *arguments: str) -> str:
        """Run Compose, and return its output."""
        files = [word for file in FILES for word in ("--file", file)]
        return ran(*self._compose, "--project-name", PROJECT, *files, *arguments, env=self._environment)

    def containers(self, service: str | None = None) -> list[str]:
        """Return the ids of the running containers, of one service or of all."""
        filters = ["--filter", f"label=com.docker.compose.project={PROJECT}"]
        if service is not None:
            filters += ["--filter", f"label=com.docker.compose.service={service}"]
        return ran(self.docker, "ps", "--quiet", "--no-trunc", *filters).split()

    def inspected(self) -> list[dict[str, Any]]:
        """Return Docker's description of each running container."""
        running = self.containers()
        found: list[dict[str, Any]] = json.loads(ran(self.docker, "inspect", *running)) if running else []
        return found

    def wait_until_healthy(self) -> None:
        """Wait until every running container with a health check is healthy."""

        def well() -> bool:
            states = [found["State"] for found in self.inspected()]
            return bool(states) and all(
                state.get("Health", {}).get("Status", "healthy") == "healthy" for state in states
            )

        wait_until(well, within=HEALTHY_WITHIN, what="every service is healthy")

    def secret(self, name: str) -> str:
        return (Path(self._secrets.name) / name).read_text("utf-8").strip()

    def _end(self, *, failed: bool) -> None:
        """Remove everything. After a failure, print the logs first."""
        try:
            if failed:
                sys.stderr.write(self.compose("logs", "--no-color", "--tail=60"))
        finally:
            self.compose("--profile", "observability", "down", "--volumes", "--remove-orphans", "--timeout", "5")
            self._secrets.cleanup()
        left = ran(self.docker, "ps", "--all", "--quiet", "--filter", f"label=com.docker.compose.project={PROJECT}")
        if left.strip():
            raise CheckFailed(f"containers are left: {left.split()}")
