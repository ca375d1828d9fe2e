"""The marks `@pytest.mark.spec("1.12")`, read from the text of the tests: nothing is imported or collected for it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mark:
    """One requirement's number at a test, at a class of tests, or (without a name) at a whole file."""

    number: str
    path: str
    name: str | None


def marks_under(root: Path) -> list[Mark]:
    """Return the marks of all tests of a project, by path and then as they stand in their file."""
    files = sorted((root / "tests").rglob("test_*.py"))
    texts = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in files}
    return [mark for path, text in texts.items() if "mark.spec" in text for mark in marks_in(path, text)]


def marks_in(path: str, text: str) -> list[Mark]:
    """Return the marks of one file. `ValueError`: one stands where no test bears it, or its numbers are no texts."""
    module = ast.parse(text)
    borne = [(name, numbers) for name, expressions in _bearers(module.body) for numbers in _written_in(expressions)]
    lost = sum(_is_mark(node) for node in ast.walk(module)) - len(borne)
    if lost:
        raise ValueError(f"{path}: marks with a requirement's number which no test bears, or without one: {lost}")
    return [Mark(number, path, name) for name, numbers in borne for number in numbers]


def _bearers(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str | None, list[ast.expr]]]:
    """Return who may bear marks (the file, its classes, its tests), each with the expressions that may hold them."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                yield prefix + name, node.decorator_list
            case ast.ClassDef(name=name) if name.startswith("Test"):
                yield prefix + name, node.decorator_list
                yield from _bearers(node.body, f"{prefix}{name}.")
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                yield prefix.rstrip(".") or None, [value]


def _written_in(expressions: list[ast.expr]) -> Iterator[list[str]]:
    """Return the numbers of each mark anywhere in expressions, as in the cases of a parametrised test."""
    for expression in expressions:
        for node in ast.walk(expression):
            if isinstance(node, ast.Call) and _is_mark(node.func):
                numbers = [one.value for one in node.args if isinstance(one, ast.Constant) and type(one.value) is str]
                if numbers and len(numbers) == len(node.args):
                    yield numbers


def _is_mark(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="spec", value=ast.Attribute(attr="mark", value=ast.Name(id="pytest"))):
            return True
    return False
