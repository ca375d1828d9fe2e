"""The choice of a server program (Postgres or Valkey): the Python package's program, else the system's.

A program is suitable if it runs on this machine (it reports its version) and is new enough.
"""

import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from tamis_schemas import ConfigurationError

from .process import ask_program, why_not_run

VERSION_WITHIN = 20.0  # seconds for a program to report its version; a cold disk reads 10 MB first
SYSTEM = "this system"

Version: TypeAlias = tuple[int, ...]
_VERSION = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True)
class ServerKind:
    """A kind of server, with the packages that contain the server."""

    name: str  # in messages
    package: str  # Python package with the program
    module: str  # of that package
    debian: str  # Debian's package
    at_least: Version  # the oldest suitable version


@dataclass(frozen=True)
class ProgramCandidate:
    """A server program to try. The file may be missing."""

    origin: str  # package of the program, or `SYSTEM`
    path: Path


@dataclass(frozen=True)
class ServerProgram:
    """A server program that runs on this machine, and the reasons why earlier candidates were not chosen."""

    path: Path
    version: Version
    origin: str
    passed_over: tuple[str, ...] = ()

    @property
    def of_system(self) -> bool:
        """Return whether the program belongs to the system. If so, the rights on its files must not be changed."""
        return self.origin == SYSTEM

    def __str__(self) -> str:
        where = f"{SYSTEM}, {self.path}" if self.of_system else self.origin
        return f"{shown(self.version)} of {where}"

    @property
    def told(self) -> str:
        """Return a line with the program, and the reasons why earlier candidates were not chosen."""
        return "; ".join((str(self), *self.passed_over))


def shown(version: Version) -> str:
    """Return a version as people write it."""
    return ".".join(map(str, version))


def choose(
    server: ServerKind,
    candidates: Iterable[ProgramCandidate],
    *,
    unfit: Callable[[Version], str | None] = lambda version: None,
) -> ServerProgram:
    """Return the first candidate that runs, is new enough, and is not `unfit`.

    Args:
        server: the kind of server.
        candidates: in order of preference.
        unfit: returns why a version is unfit; None if it is fit.

    Raises:
        ConfigurationError: no candidate is suitable; the message says why, and names packages to install.
    """
    reasons: list[str] = []
    remedies = [f"install Debian's package {server.debian}"]
    if find_spec(server.module) is None:
        reasons.append(f"the package {server.package} is not installed")
        remedies.insert(0, f"install {server.package} (part of tamis[demo])")
    for candidate in candidates:
        named = f"{candidate.path} of {candidate.origin}"
        version = ask_version(candidate.path)
        if isinstance(version, str):
            reasons.append(f"{named} does not run: {version}")
        elif version < server.at_least:
            reasons.append(f"{named} is {shown(version)}, but {shown(server.at_least)} is the minimum")
        elif (why := unfit(version)) is not None:
            reasons.append(f"{named} is {shown(version)}, {why}")
        else:
            return ServerProgram(candidate.path, version, candidate.origin, tuple(reasons))
    raise ConfigurationError(
        f"no {server.name} can be started ({'; '.join(reasons)}): {' or '.join(remedies)}, or set TAMIS_BROKER_URL and "
        "TAMIS_DATABASE_URL to your own servers"
    )


def brought_along(server: ServerKind, program: str) -> list[ProgramCandidate]:
    """Return a list with the program at the path `program` in the server's Python package.

    The list is empty if the package is not installed.
    """
    # The package is not imported, because its import may fail or have effects.
    spec = find_spec(server.module)
    if spec is None or spec.origin is None:
        return []
    return [ProgramCandidate(server.package, Path(spec.origin).parent / program)]


def ask_version(program: Path) -> Version | str:
    """Return a program's version or, in a few words, the reason why it reports none."""
    try:
        done = ask_program(str(program), "--version", within=VERSION_WITHIN)
    except FileNotFoundError:
        # The file may exist without its loader, which belongs to another C library.
        return "it was built for another system" if program.exists() else "it is missing"
    except OSError as error:
        return str(error.strerror)
    except subprocess.TimeoutExpired:
        return f"it did not report its version within {VERSION_WITHIN:.0f} s"
    if done.returncode != 0:
        return why_not_run(done.stderr, done.returncode)
    match = _VERSION.search(done.stdout)
    return tuple(int(part) for part in match[0].split(".")) if match else "it does not report its version"
