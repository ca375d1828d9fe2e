"""Every migration leaves room for workers of the release before, which know nothing of it and go on."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from tamis_schemas.ledger.revisions import MIGRATIONS, head, revisions

LATER = sorted((MIGRATIONS / "versions").glob("*.py"))[1:]  # the first one makes what all of them know
TAKING = ("drop", "alter", "rename", "batch_alter")
WIDENING = {"drop_constraint"}  # what the release before writes is taken as before


def operations(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """What its `upgrade` does, by name."""
    (upgrade,) = [
        node
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "upgrade"
    ]
    for node in ast.walk(upgrade):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="op"), attr=name)):
                yield name, node


def test_the_names_of_the_files_are_the_revisions_in_their_order() -> None:
    script = ScriptDirectory(str(MIGRATIONS))
    assert revisions() == [revision.revision for revision in script.walk_revisions()][::-1]
    assert head() == script.get_current_head()


@pytest.mark.parametrize("path", LATER, ids=lambda path: path.stem)
def test_a_migration_only_adds(path: Path) -> None:
    names = {name for name, _ in operations(path)}
    assert names
    assert not {name for name in names - WIDENING if name.startswith(TAKING)}


@pytest.mark.parametrize("path", LATER, ids=lambda path: path.stem)
def test_a_column_that_is_added_need_not_be_filled(path: Path) -> None:
    for name, call in operations(path):
        if name == "add_column":
            column = call.args[1]
            assert isinstance(column, ast.Call)
            given = {keyword.arg: keyword.value for keyword in column.keywords}
            nullable = isinstance(given["nullable"], ast.Constant) and given["nullable"].value is True
            assert nullable or "server_default" in given, ast.unparse(call)
