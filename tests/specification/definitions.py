"""What the packages define, found by as much of its dotted name as no other definition shares."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

PACKAGES = ("schemas", "producer", "worker", "review", "cli")


@dataclass(frozen=True)
class Definition:
    """A function, class or constant, or of a class a method or field as `Class.name`."""

    path: str
    name: str
    dotted: str


class Definitions:
    """All of them. `filter.parse` finds `tamis_worker.operations.filter.parse` wherever its file is moved."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self._by_last_part: dict[str, list[Definition]] = defaultdict(list)
        for definition in definitions:
            self._by_last_part[definition.dotted.rpartition(".")[2]].append(definition)

    @classmethod
    def under(cls, root: Path) -> Self:
        """The definitions of a project's packages."""
        return cls(
            definition
            for package in PACKAGES
            for path in sorted((root / package).rglob("*.py"))
            for definition in definitions_in(
                path.relative_to(root).as_posix(), path.relative_to(root / package), path.read_text("utf-8")
            )
        )

    def find(self, name: str) -> Definition:
        """Return what bears a name. `ValueError`: nothing does, or more than one; what comes near is named."""
        alike = self._by_last_part[name.rpartition(".")[2]]
        found = {one.dotted: one for one in alike if f".{one.dotted}".endswith(f".{name}")}
        if len(found) != 1:
            fault = "is more than one" if found else "is defined nowhere"
            raise ValueError(f"{name!r} {fault}: {', '.join(found or sorted({one.dotted for one in alike})) or 'none'}")
        return found.popitem()[1]


def definitions_in(path: str, module: Path, text: str) -> Iterator[Definition]:
    """Return what one file defines; `module` is its path within its package's folder."""
    parts = [part for part in module.with_suffix("").parts if part != "__init__"]
    for name in _names(ast.parse(text).body):
        yield Definition(path, name, ".".join([*parts, name]))


def _names(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name
            case ast.ClassDef(name=name, body=inner):
                yield prefix + name
                yield from _names(inner, f"{prefix}{name}.")
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name
            case ast.Assign(targets=targets):
                yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))
