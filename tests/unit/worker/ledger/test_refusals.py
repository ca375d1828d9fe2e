"""What is said of a refusal holds neither SQL nor a value."""

import psycopg
import pytest
from sqlalchemy.exc import DataError, IntegrityError, StatementError

from tamis_worker.ledger.connection import refusal_words

SQL = "INSERT INTO results VALUES (:value)"
GIVEN = {"value": "the answer"}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DataError(SQL, GIVEN, psycopg.errors.NumericValueOutOfRange("the answer 5")), "numeric value out of range"),
        (IntegrityError(SQL, GIVEN, psycopg.errors.CheckViolation("the answer")), "check violation"),
        (psycopg.errors.InvalidTextRepresentation("the answer"), "invalid text representation"),
        (StatementError("the answer", SQL, GIVEN, ValueError("the answer")), "StatementError"),
        (ValueError("the answer"), "ValueError"),
    ],
)
def test_a_refusal_is_named_and_quotes_nothing(error: Exception, words: str) -> None:
    assert refusal_words(error) == words
