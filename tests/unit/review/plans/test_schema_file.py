"""A JSON Schema is read from JSON or YAML; a broken file is named with its line."""

from pathlib import Path

import pytest

from tamis_review.plans.plan_file import read_schema
from tamis_schemas import InputError

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "object", "properties": {"n": {"type": "integer"}}}',
        "type: object\nproperties:\n  n: {type: integer}\n",
    ],
)
def test_json_and_yaml_say_the_same(tmp_path: Path, text: str) -> None:
    path = tmp_path / "schema"
    path.write_text(text, "utf-8")
    assert read_schema(path) == SCHEMA


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"type": "object",\n "properties": }', r"schema:2: not JSON: Expecting value, column 16"),
        ("type: object\nproperties: {a: [}\n", r"schema:2: not YAML: "),
        ("- a\n- b\n", "must be a mapping"),
        ('["a"]', "must be a mapping"),
        ("just words", "must be a mapping"),
    ],
)
def test_a_file_that_holds_no_schema_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "schema"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=said):
        read_schema(path)
