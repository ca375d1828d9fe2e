"""Every migration leaves room for workers of the release before, which know nothing of it and go on."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from stage.sample_revision import SOURCE, next_release
from tamis_schemas.ledger.revisions import MIGRATIONS, head, revisions

TAKING = ("drop", "alter", "rename", "batch_alter")
WIDENING = {"drop_constraint"}  # what the release before writes is taken as before


def calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of alembic's operations in the `upgrade` of a revision, by name."""
    (upgrade,) = [
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == "upgrade"
    ]
    for node in ast.walk(upgrade):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="op"), attr=name)):
                yield name, node


def faults(source: str) -> list[str]:
    """Return the calls of a revision that workers of the release before could not bear."""
    found = []
    for name, call in calls(source):
        if name.startswith(TAKING) and name not in WIDENING:
            found.append(ast.unparse(call))
        if name == "add_column":
            column = call.args[1]
            assert isinstance(column, ast.Call)
            given = {keyword.arg: keyword.value for keyword in column.keywords}
            nullable = isinstance(given["nullable"], ast.Constant) and given["nullable"].value is True
            if not nullable and "server_default" not in given:
                found.append(ast.unparse(call))
    return found


def test_the_names_of_the_files_are_the_revisions_in_their_order(tmp_path: Path) -> None:
    with next_release(tmp_path) as migrations:
        script = ScriptDirectory(str(migrations))
        assert revisions() == [revision.revision for revision in script.walk_revisions()][::-1] == ["0001", "0002"]
        assert head() == script.get_current_head()
    assert head() == ScriptDirectory(str(MIGRATIONS)).get_current_head()


def test_a_later_migration_only_adds_and_what_it_adds_need_not_be_filled() -> None:
    first, *later = sorted((MIGRATIONS / "versions").glob("*.py"))  # the first one makes what all of them know
    assert first.name == "0001_ledger.py"
    for source in (SOURCE, *(path.read_text("utf-8") for path in later)):
        assert list(calls(source))
        assert faults(source) == []


@pytest.mark.parametrize(
    "call",
    [
        "op.drop_column('batches', 'label')",
        "op.alter_column('batches', 'label', nullable=False)",
        "op.rename_table('batches', 'runs')",
        "op.add_column('batches', sa.Column('colour', sa.Text, nullable=False))",
    ],
)
def test_what_workers_of_the_release_before_could_not_bear_is_found(call: str) -> None:
    assert faults(f"def upgrade():\n    {call}") == [call]
