"""SQL is fixed text with bound parameters: what a caller, a file or a model says never becomes a part of it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for floor in ("schemas", "producer", "worker", "review", "cli", "benchmarks")
    for path in (ROOT / floor).rglob("*.py")
)
# Called with SQL as the first argument, whatever they are called on.
TAKES_SQL = frozenset(
    {"text", "execute", "exec_driver_sql", "scalar", "scalars", "copy", "literal_column", "DDL", "fetch"}
)
# Names of ours in statements that take no parameters; each with the reason.
ALLOWED = {
    "benchmarks/parts.py": "names of its own throw-away databases, which no statement takes as a parameter",
    "benchmarks/ledger_cost.py": "numbers of its own, and the statements whose plan it asks for",
    "producer/tamis_producer/calls/call_results.py": "names of channels of ours, in LISTEN",
    "producer/tamis_producer/retention/archive.py": "statements that SQLAlchemy writes, in COPY",
    "producer/tamis_producer/retention/purge.py": "tables of ours, as the driver quotes them, in VACUUM",
    "schemas/tamis_schemas/ledger/migrations/versions/0001_ledger.py": "columns and states of ours, in triggers",
    "schemas/tamis_schemas/ledger/rights.py": "tables of ours, and a role's name as the driver quotes it, in GRANT",
}


def fixed(node: ast.expr, constants: frozenset[str]) -> bool:
    """A text that stands in the source, or a sum of such; or an object, whose SQL SQLAlchemy writes."""
    match node:
        case ast.Constant():
            return True
        case ast.JoinedStr(values=parts):
            return all(
                isinstance(part, ast.Constant)
                or (
                    isinstance(part, ast.FormattedValue)
                    and isinstance(part.value, ast.Name)
                    and part.value.id in constants
                )
                for part in parts
            )
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right):
            return fixed(left, constants) and fixed(right, constants)
        case ast.Call(func=ast.Attribute(attr="format" | "join" | "replace" | "format_map" | "substitute")):
            return False
        case ast.IfExp(body=body, orelse=orelse):
            return fixed(body, constants) and fixed(orelse, constants)
        case _:
            return True


def constants_of(tree: ast.Module) -> frozenset[str]:
    """Names at the top of a module that stand for a text written there."""
    return frozenset(
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    )


def built(source: str) -> Iterator[int]:
    """The lines in which SQL is put together from anything but texts of the source."""
    tree = ast.parse(source)
    constants = constants_of(tree)
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    assigned.setdefault(target.id, []).append(node.value)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in TAKES_SQL:
            continue
        given = node.args[0]
        values = assigned.get(given.id, []) if isinstance(given, ast.Name) else [given]
        if not all(fixed(value, constants) for value in values):
            yield node.lineno


def test_no_statement_is_put_together_from_values() -> None:
    assert len(SOURCES) > 500
    names = {str(path.relative_to(ROOT)): path for path in SOURCES}
    lines = {name: list(built(path.read_text("utf-8"))) for name, path in names.items() if name not in ALLOWED}
    assert {name: found for name, found in lines.items() if found} == {}


def test_every_exception_is_one_still() -> None:
    for name in ALLOWED:
        assert list(built((ROOT / name).read_text("utf-8"))), f"{name} needs no exception any more"


@pytest.mark.parametrize(
    "source",
    [
        'c.execute(f"SELECT {x}")',
        'c.execute("SELECT " + x.join("a"))',
        'c.execute("SELECT %s" % f"{x}")',
        'c.execute("SELECT {}".format(x))',
        'text(f"SELECT {x}")',
        's = f"SELECT {x}"\nc.execute(s)',
        'c.execute("SELECT 1" if y else f"SELECT {x}")',
        'select(literal_column(f"{x}"))',
    ],
)
def test_the_test_sees_what_it_looks_for(source: str) -> None:
    assert list(built(source))


@pytest.mark.parametrize(
    "source",
    ['N = "a"\nc.execute(f"SELECT {N}")', 'c.execute("SELECT %s", [x])', "c.execute(select(a).where(a.c.x == x))"],
)
def test_the_test_lets_parameters_pass(source: str) -> None:
    assert not list(built(source))


def test_no_two_locks_of_the_ledger_have_the_same_number() -> None:
    named = re.compile(r"^(\w+) = (7_264_\d+)  #", re.MULTILINE)
    locks = [match.groups() for path in SOURCES for match in named.finditer(path.read_text("utf-8"))]
    assert len(locks) >= 7
    assert len({number for _, number in locks}) == len(locks), locks
