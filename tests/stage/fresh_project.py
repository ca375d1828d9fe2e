"""A Python project in a virtual environment of its own, with the built wheel of Tamis and nothing of the tests'."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .command import Finished

ROOT = Path(__file__).parents[2]
BUILT_WITHIN = 120.0  # s
INSTALLED_WITHIN = 400.0  # s; the packages may come over the network
FINISHED_WITHIN = 180.0  # s
OWN = ("PYTHON", "VIRTUAL_ENV", "TAMIS_", "OPENAI_", "OTEL_", "COV_")  # variables of the process that runs the tests


def build_wheel(folder: Path) -> Path:
    """The wheel, built without a network by the build backend that is installed here."""
    _done(
        [
            *(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"),
            *("--quiet", "--wheel-dir", str(folder), str(ROOT)),
        ],
        within=BUILT_WITHIN,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def members(wheel: Path) -> list[str]:
    """The paths of all files in it."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def needed_by(wheel: Path) -> list[Distribution]:
    """What a wheel needs without any extra, and what that needs, as it is installed here."""
    with zipfile.ZipFile(wheel) as archive:
        (info,) = [part for part in zipfile.Path(archive).iterdir() if part.name.endswith(".dist-info")]
        return installed_for(PathDistribution(info).requires or ())  # type: ignore[arg-type]  # a path in it


def installed_for(requirements: Iterable[str]) -> list[Distribution]:
    """What requirements name, and what that needs, as it is installed here."""
    asked = [(text, "") for text in requirements]
    needed: dict[tuple[str, frozenset[str]], Distribution] = {}
    while asked:
        text, extra = asked.pop()
        requirement = Requirement(text)
        key = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if key in needed or (requirement.marker and not requirement.marker.evaluate({"extra": extra})):
            continue
        needed[key] = distribution(requirement.name)
        asked += [(more, extra) for more in needed[key].requires or () for extra in ("", *requirement.extras)]
    return list(needed.values())


@dataclass(frozen=True)
class FreshProject:
    """A project's folder, and the environment that it runs in."""

    folder: Path
    environment: Path

    @classmethod
    def with_wheel(cls, folder: Path, environment: Path, wheel: Path, *, linked: bool = True) -> "FreshProject":
        """The project beside the base install of the wheel, at the pinned versions.

        `linked`: what the wheel needs is linked to where it is installed for the tests, and not installed once more.
        """
        _done([sys.executable, "-m", "venv", "--without-pip", str(environment)], within=INSTALLED_WITHIN)
        install = [*pip_for(environment), "install", "--quiet", "--no-input", "--no-compile"]
        if linked:
            (site,) = environment.glob("lib/python*/site-packages")
            for distribution in needed_by(wheel):
                _link(distribution, site)
            _done([*install, "--no-deps", str(wheel)], within=INSTALLED_WITHIN)
        else:
            _done([*install, "--constraint", str(ROOT / "constraints.txt"), str(wheel)], within=INSTALLED_WITHIN)
        return cls(folder, environment)

    @classmethod
    def without_tamis(cls, folder: Path, environment: Path, *requirements: str) -> "FreshProject":
        """The project beside packages that are linked to where they are installed for the tests; Tamis is none."""
        _done([sys.executable, "-m", "venv", "--without-pip", str(environment)], within=INSTALLED_WITHIN)
        (site,) = environment.glob("lib/python*/site-packages")
        for needed in installed_for(requirements):
            _link(needed, site)
        return cls(folder, environment)

    @classmethod
    def installed(cls, folder: Path, environment: Path, *requirements: str) -> "FreshProject":
        """The project beside packages that pip chooses, without the pinned versions."""
        _done([sys.executable, "-m", "venv", "--without-pip", str(environment)], within=INSTALLED_WITHIN)
        _done([*pip_for(environment), "install", "--quiet", "--no-input", *requirements], within=INSTALLED_WITHIN)
        return cls(folder, environment)

    def start(self, program: str, *arguments: str, env: Mapping[str, str], log: Path) -> "subprocess.Popen[bytes]":
        """Start a program of its environment in the project's folder; what it says goes to a file."""
        with log.open("wb") as stream:
            return subprocess.Popen(
                [self.program(program), *arguments],
                env={**_clean(), **env},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )

    def program(self, name: str) -> str:
        """The path of a program of its environment."""
        return str(self.environment / "bin" / name)

    def packages(self) -> set[str]:
        """The distributions that are installed, in small letters and with hyphens."""
        infos = self.environment.glob("lib/python*/site-packages/*.dist-info")
        return {canonicalize_name(info.name.partition("-")[0]) for info in infos}

    def call(self, program: str, *arguments: str, env: Mapping[str, str] | None = None) -> Finished:
        """Run a program of its environment in the project's folder, to its end."""
        done = subprocess.run(
            [self.program(program), *arguments],
            env={**_clean(), **(env or {})},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=FINISHED_WITHIN,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def told(self, *arguments: str, env: Mapping[str, str] | None = None) -> Any:
        """The JSON that a Python program of the project prints."""
        done = self.call("python", *arguments, env=env)
        assert done.code == 0, done.err
        return json.loads(done.out)


def _link(distribution: Distribution, site: Path) -> None:
    """Each of its files by itself: folders may be those of several distributions."""
    for file in distribution.files or ():
        place = site / file
        if ".." not in file.parts and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(Path(str(distribution.locate_file(file))).resolve())


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(OWN)}


def pip_for(environment: Path) -> list[str]:
    """The tests' own pip at work in another environment, which then needs none (a third of what making it costs)."""
    return [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "--disable-pip-version-check"]


def _done(command: list[str], *, within: float) -> str:
    """What it printed."""
    done = subprocess.run(
        command,
        env=_clean(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=within,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}\n{done.stderr}"
    return done.stdout
