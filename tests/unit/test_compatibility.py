"""The versions in docs/compatibility.md are those that pyproject.toml allows, and that `make lowest` installs."""

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text("utf-8")
PYPROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
PINS = (ROOT / "constraints.txt").read_text("utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of each row of the tables under a heading, without the first one of each table."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if "|" in line]
    return [row for row, after in zip(lines, [*lines[1:], [""]], strict=False) if "---" not in row[0] + after[0]]


def command(name: str) -> dict[str, Any]:
    """What a command of `.ci` defines."""
    return runpy.run_path(str(ROOT / ".ci" / name))


def release(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def test_the_pythons_of_the_page_are_those_of_the_package_and_of_make_pythons() -> None:
    project = tomllib.loads(PYPROJECT)["project"]
    classified = [line.rsplit(" ", 1)[1] for line in project["classifiers"] if line.startswith("Programming Language")]
    tried = {re.match(r"3\.\d+", row[0])[0] for row in rows("Pythons")}  # type: ignore[index] # none would be an error
    assert sorted(tried, key=release) == classified
    oldest, newest = release(classified[0])[1], release(classified[-1])[1]
    assert project["requires-python"] == f">=3.{oldest},<3.{newest + 1}"
    pythons = command("pythons")
    assert (pythons["OLDEST"], pythons["NEWEST"]) == (oldest, newest)


def test_every_lower_bound_of_the_page_is_that_of_the_package_and_has_a_reason() -> None:
    listed = {row[0]: row[1] for row in rows("Lowest versions")}
    assert len(listed) > 20
    assert listed.items() <= command("lowest")["needed"](PYPROJECT).items()
    assert all(len(row) == 3 and row[2] for row in rows("Lowest versions"))


def test_no_lower_bound_is_above_what_is_pinned_and_the_tests_have_the_pins() -> None:
    pins = dict(line.lower().replace("_", "-").split("==") for line in PINS.split())
    installed = command("lowest")["lowest"](PYPROJECT, PINS)
    assert installed["pydantic"] == "2.9"
    assert installed["hypothesis"] == pins["hypothesis"]
    for name, version in installed.items():
        assert release(version) <= release(pins[name]), name


def test_a_bound_that_cannot_be_read_is_told() -> None:
    with pytest.raises(SystemExit, match="alembic>1 is not understood"):
        command("lowest")["lowest"](PYPROJECT.replace('"alembic>=1.13"', '"alembic>1"'), PINS)
