"""The bounds of what is installed are those that docs/dependencies.md gives reasons for."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def required() -> dict[str, str]:
    """What pyproject.toml says of each package: `>=5.7,<5.8`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [*project["dependencies"], *(one for lines in project["optional-dependencies"].values() for one in lines)]
    parts = [re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?([^;]*)(?:;.*)?", line) for line in lines]
    return {part[1]: part[2].strip() for part in parts if part and part[1] != "tamis"}


def bounds() -> dict[str, str]:
    text = (ROOT / "docs" / "dependencies.md").read_text("utf-8").split("\n## Upper bounds\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| ([\w-]+) \| `(<[\d.]+)` \| \S", text, re.MULTILINE))


def test_exactly_the_packages_of_the_table_have_an_upper_bound_and_it_is_the_one_that_stands_there() -> None:
    assert set(bounds()) == {"celery", "kombu", "openai", "redis", "typer"}
    capped = {name: wanted.split(",")[1] for name, wanted in required().items() if "<" in wanted}
    assert capped == bounds()


def test_what_is_pinned_lies_within_the_bounds() -> None:
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text("utf-8").split())

    def release(version: str) -> tuple[int, ...]:
        return tuple(int(part) for part in version.split("."))

    for name, bound in bounds().items():
        low = required()[name].split(",")[0].removeprefix(">=")
        assert release(low) <= release(pins[name]) < release(bound.removeprefix("<")), name
