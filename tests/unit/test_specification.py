"""The table of specifications names only what is there: files, functions, classes, constants, tests."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPECS = {
    1: "Spec 1: AI evaluation service",
    2: "Spec 2: generate answer",
    3: "Spec 3: systematic review filtering",
    4: "Spec 4: evaluation framework",
    5: "Spec 5: evidence judge",
}
REFERENCE = re.compile(r"`([\w./]+\.py)`: (`[\w.]+`(?:, `[\w.]+`)*)")
CELL = re.compile(rf"{REFERENCE.pattern}(?:; {REFERENCE.pattern})*")
MARKS = re.compile(r" \((D\d+(?:, D\d+)*)\)$")


@dataclass(frozen=True)
class Named:
    """One name in one file."""

    path: str
    name: str


@dataclass(frozen=True)
class Requirement:
    """One row of a specification's table."""

    number: str
    text: str
    held_by: str
    shown_by: str

    @property
    def differences(self) -> list[str]:
        marks = MARKS.search(self.text)
        return marks[1].split(", ") if marks else []


def section(heading: str) -> str:
    document = (ROOT / "docs" / "specification.md").read_text("utf-8")
    return document.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def rows(heading: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    lines = [line for line in section(heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def requirements() -> list[Requirement]:
    return [Requirement(*row) for heading in SPECS.values() for row in rows(heading)]


def named_in(cell: str) -> Iterator[Named]:
    for path, names in REFERENCE.findall(cell):
        for name in re.findall(r"`([\w.]+)`", names):
            yield Named(path, name)


@cache
def defined_in(path: str) -> frozenset[str]:
    """What a module defines: functions, classes, constants; of a class its methods and fields as `Class.name`."""
    return frozenset(_definitions(ast.parse((ROOT / path).read_text("utf-8")).body))


def _definitions(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name
            case ast.ClassDef(name=name, body=inner):
                yield prefix + name
                yield from _definitions(inner, f"{prefix}{name}.")
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name
            case ast.Assign(targets=targets):
                yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))


@cache
def collected_from(path: str) -> frozenset[str]:
    """The functions that pytest collects from a file."""
    return frozenset(
        node.name
        for node in ast.parse((ROOT / path).read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )


@pytest.mark.parametrize("heading", [*SPECS.values(), "Differences", "Not built yet"])
def test_no_cell_of_any_table_is_empty(heading: str) -> None:
    table = rows(heading)
    assert len(table) >= (5 if heading == "Not built yet" else 10)
    assert {len(row) for row in table} == {2 if heading == "Not built yet" else 4}
    assert all(all(row) for row in table)


@pytest.mark.parametrize(("spec", "heading"), SPECS.items())
def test_requirements_are_numbered_without_a_gap(spec: int, heading: str) -> None:
    numbers = [row[0] for row in rows(heading)]
    assert numbers == [f"{spec}.{n}" for n in range(1, len(numbers) + 1)]


def test_no_requirement_stands_there_twice() -> None:
    texts = [requirement.text for requirement in requirements()]
    assert len(set(texts)) == len(texts)


def test_every_cell_that_refers_is_written_as_files_and_names() -> None:
    for requirement in requirements():
        for cell in (requirement.held_by, requirement.shown_by):
            assert CELL.fullmatch(cell), f"{requirement.number}: {cell}"


def test_every_requirement_is_held_by_something_that_the_source_defines() -> None:
    for requirement in requirements():
        for named in named_in(requirement.held_by):
            assert named.path.startswith(("schemas/", "producer/", "worker/")), requirement.number
            assert (ROOT / named.path).is_file(), f"{requirement.number}: {named.path}"
            assert named.name in defined_in(named.path), f"{requirement.number}: {named.path} has no {named.name}"


def test_every_requirement_is_shown_by_a_test_function() -> None:
    for requirement in requirements():
        for named in named_in(requirement.shown_by):
            assert re.fullmatch(r"tests/(unit|integration|acceptance)/([\w/]+/)?test_\w+\.py", named.path), named.path
            assert (ROOT / named.path).is_file(), f"{requirement.number}: {named.path}"
            assert named.name in collected_from(named.path), f"{requirement.number}: {named.path} has no {named.name}"


def test_every_difference_belongs_to_requirements_that_name_it() -> None:
    table = rows("Differences")
    assert [row[0] for row in table] == [f"D{n}" for n in range(1, len(table) + 1)]
    named_there = {(number, row[0]) for row in table for number in row[1].split(", ")}
    named_here = {(requirement.number, mark) for requirement in requirements() for mark in requirement.differences}
    assert named_here == named_there


def test_what_is_not_built_belongs_to_a_specification() -> None:
    assert {row[0] for row in rows("Not built yet")} <= {str(spec) for spec in SPECS}


def test_names_are_found_where_they_are_defined_and_nowhere_else() -> None:
    schemas = defined_in("schemas/tamis_schemas/operations/score.py")
    assert {"Score", "Score.min_value", "Score.on_grid", "TOLERANCE"} <= schemas
    assert not {"min_value", "on_grid", "Words", "low", "Score.absent"} & schemas
    assert "rows" not in collected_from("tests/unit/test_specification.py")
