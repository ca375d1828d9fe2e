"""No engine of SQLAlchemy puts what it was given into the messages of its errors."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for floor in ("schemas", "producer", "worker", "review", "cli", "examples")
    for path in (ROOT / floor).rglob("*.py")
)
MAKERS = frozenset({"create_engine", "create_async_engine", "engine_from_config", "async_engine_from_config"})


def made(source: str) -> Iterator[tuple[int, bool]]:
    """Where an engine is made, and whether it hides its parameters."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and MAKERS & {getattr(node.func, "id", None), getattr(node.func, "attr", None)}:
            given = {word.arg: word.value for word in node.keywords}
            hides = given.get("hide_parameters")
            yield node.lineno, isinstance(hides, ast.Constant) and hides.value is True


def test_every_engine_hides_its_parameters() -> None:
    engines = [(path, *one) for path in SOURCES for one in made(path.read_text("utf-8"))]
    assert len(engines) >= 4
    assert [(str(path), line) for path, line, hides in engines if not hides] == []


@pytest.mark.parametrize(
    ("source", "hides"),
    [
        ("create_engine(url)", False),
        ("sa.create_engine(url, hide_parameters=False)", False),
        ("create_async_engine(url, hide_parameters=hide)", False),
        ("create_async_engine(url, hide_parameters=True)", True),
    ],
)
def test_the_search_tells_those_that_do_from_those_that_do_not(source: str, hides: bool) -> None:
    assert list(made(source)) == [(1, hides)]
