"""An archive of a release in which the last row of an item counted keeps its outcomes."""

import json

from tamis_producer.retention.last_words import as_before
from tamis_producer.retention.rows import Row

COLUMNS = ("batch_id", "idx", "value", "note", "reviewer", "created_at")
A, B, C = "Reviewer A", "Reviewer B", "Reviewer C"


def archived(*said: tuple[int, str | None, str]) -> list[Row]:
    """Rows as they stand in an archive: JSON as text, nothing for a withdrawal."""
    return [
        ("b", idx, None if value is None else json.dumps(value), None, reviewer, f"2026-01-0{n}")
        for n, (idx, value, reviewer) in enumerate(said, 1)
    ]


def test_the_row_that_counted_settles_where_others_said_otherwise() -> None:
    rows = archived((0, "include", A), (0, "exclude", B), (1, "include", A), (1, "include", B), (2, "include", A))
    columns, made = as_before(COLUMNS, rows)
    assert columns == (*COLUMNS, "settles")
    assert [(row[1], row[4], row[6]) for row in made] == [
        (0, A, False),
        (0, B, True),
        (1, A, False),
        (1, B, False),
        (2, A, False),
    ]


def test_a_withdrawal_took_back_what_everybody_had_said() -> None:
    _, made = as_before(
        COLUMNS, archived((0, "include", A), (0, "exclude", B), (0, None, C), (1, "include", A), (1, None, A))
    )
    assert list(made)[5:] == [
        ("b", 0, None, "withdrawn by Reviewer C", A, "2026-01-03", False),
        ("b", 0, None, "withdrawn by Reviewer C", B, "2026-01-03", False),
    ]
