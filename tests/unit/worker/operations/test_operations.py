"""What operations share: each is asked in some way, and keeps a reasoning only where one was asked for."""

import pytest

from tamis_schemas import Filter
from tamis_schemas.operations import OPERATIONS
from tamis_worker.operations import PROGRAMS, PROGRAMS_OVER_CHUNKS
from tamis_worker.operations.answer_model import explained_schema, explanation


def test_every_operation_has_a_program() -> None:
    assert set(PROGRAMS) == set(OPERATIONS)


def test_every_operation_that_reads_chunks_has_a_program_over_them() -> None:
    assert set(PROGRAMS_OVER_CHUNKS) == {kind for kind in OPERATIONS if kind.reads_chunks}


@pytest.mark.parametrize(
    ("asked_for", "given", "kept", "properties"),
    [
        (True, "so", "so", ["reasoning", "value", "confidence"]),
        (True, None, "", ["reasoning", "value", "confidence"]),
        (False, "so", None, ["value", "confidence"]),
        (False, None, None, ["value", "confidence"]),
    ],
)
def test_a_reasoning_comes_first_and_is_kept_where_it_was_asked_for(
    asked_for: bool, given: str | None, kept: str | None, properties: list[str]
) -> None:
    operation = Filter(criteria="Is it?", include_reasoning=asked_for)
    assert explanation(operation, given) == kept
    assert list(explained_schema(operation, {"value": {"type": "boolean"}})["properties"]) == properties
