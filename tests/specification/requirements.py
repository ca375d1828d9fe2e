"""The requirements in the project's own words, as the files beside this one have them."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Requirement:
    """One demand of a specification, and the names of what holds it."""

    number: str
    demanded: str
    held_by: tuple[str, ...]
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Specification:
    """A specification's requirements, and what none of the packages does yet."""

    number: str
    title: str
    requirements: tuple[Requirement, ...]
    not_built: tuple[str, ...] = ()


@dataclass(frozen=True)
class Difference:
    """Where requirements are met otherwise than written, with the reason if it needs one."""

    number: str
    difference: str


def read_specifications(folder: Path = FOLDER) -> list[Specification]:
    """Return the specifications in their order. A number that stands in a file twice is no TOML."""
    return [_specification(path) for path in sorted(folder.glob("spec_*.toml"))]


def read_differences(folder: Path = FOLDER) -> list[Difference]:
    """Return the differences in their order."""
    entries = tomllib.loads((folder / "differences.toml").read_text("utf-8"))
    return [Difference(number, difference) for number, difference in entries.items()]


def _specification(path: Path) -> Specification:
    document = tomllib.loads(path.read_text("utf-8"))
    requirements = tuple(
        Requirement(number, entry["demanded"], tuple(entry["held_by"]), tuple(entry.get("differences", ())))
        for number, entry in document["requirements"].items()
    )
    number = path.stem.removeprefix("spec_")
    return Specification(number, document["title"], requirements, tuple(document.get("not_built", ())))
