"""Which program serves: the one that a package brings along, else one that the system has.

A program counts where it runs here (it is asked for its version) and is not too old for what is wanted of it.
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

VERSION_WITHIN = 20.0  # seconds for a program to say its version; a cold disk reads 10 MB first
SYSTEM = "this system"

Version: TypeAlias = tuple[int, ...]
_VERSION = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True)
class ServerKind:
    """A kind of server, and where it comes from."""

    name: str  # in messages
    package: str  # that brings it along
    module: str  # of that package
    debian: str  # the package of Debian
    at_least: Version


@dataclass(frozen=True)
class ProgramCandidate:
    """A program that may be there."""

    origin: str  # the package that brings it, or `SYSTEM`
    path: Path


@dataclass(frozen=True)
class ServerProgram:
    """A program that runs on this machine, and why those before it do not serve."""

    path: Path
    version: Version
    origin: str
    passed_over: tuple[str, ...] = ()

    @property
    def of_system(self) -> bool:
        """True where it came with the system, and its files are not ours to open to others."""
        return self.origin == SYSTEM

    def __str__(self) -> str:
        where = f"{SYSTEM}, {self.path}" if self.of_system else self.origin
        return f"{shown(self.version)} of {where}"

    @property
    def told(self) -> str:
        """The program and the reasons for it, in one line."""
        return "; ".join((str(self), *self.passed_over))


def shown(version: Version) -> str:
    """A version as people write it."""
    return ".".join(map(str, version))


def choose(
    server: ServerKind,
    candidates: Iterable[ProgramCandidate],
    *,
    unfit: Callable[[Version], str | None] = lambda version: None,
) -> ServerProgram:
    """The first of the candidates that runs, is new enough and not unfit.

    Args:
        server: what is looked for.
        candidates: in the order of preference.
        unfit: says why a version does not do; None: it does.

    Raises:
        ConfigurationError: where none does; says why each does not, and what to install.
    """
    reasons: list[str] = []
    remedies = [f"install Debian's package {server.debian}"]
    if find_spec(server.module) is None:
        reasons.append(f"the package {server.package} is not installed")
        remedies.insert(0, f"install {server.package} (it is in tamis[demo])")
    for candidate in candidates:
        named = f"{candidate.path} of {candidate.origin}"
        version = ask_version(candidate.path)
        if isinstance(version, str):
            reasons.append(f"{named} does not run: {version}")
        elif version < server.at_least:
            reasons.append(f"{named} is {shown(version)}, and {shown(server.at_least)} is the least")
        elif (why := unfit(version)) is not None:
            reasons.append(f"{named} is {shown(version)}, {why}")
        else:
            return ServerProgram(candidate.path, version, candidate.origin, tuple(reasons))
    raise ConfigurationError(
        f"there is no {server.name} to start ({'; '.join(reasons)}): {' or '.join(remedies)}, or name your own servers "
        "with TAMIS_BROKER_URL and TAMIS_DATABASE_URL"
    )


def brought_along(server: ServerKind, program: str) -> list[ProgramCandidate]:
    """The program at this path within the server's package, where that is installed."""
    # Found without importing the package: what its import needs and does is not ours.
    spec = find_spec(server.module)
    if spec is None or spec.origin is None:
        return []
    return [ProgramCandidate(server.package, Path(spec.origin).parent / program)]


def ask_version(program: Path) -> Version | str:
    """The version that a program says it has, or why it says none, in a few words."""
    try:
        done = ask_program(str(program), "--version", within=VERSION_WITHIN)
    except FileNotFoundError:
        # The file may be there, and the loader that it names may not: that of another C library.
        return "it was built for another system" if program.exists() else "it is missing"
    except OSError as error:
        return str(error.strerror)
    except subprocess.TimeoutExpired:
        return f"it did not say its version within {VERSION_WITHIN:.0f} s"
    if done.returncode != 0:
        return why_not_run(done.stderr, done.returncode)
    found = _VERSION.search(done.stdout)
    return tuple(int(part) for part in found[0].split(".")) if found else "it does not say its version"
