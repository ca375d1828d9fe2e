"""The refusals of the ledger, in words that hold neither a statement nor a value of it. Pure."""

import re

import psycopg
from sqlalchemy.exc import DBAPIError

_WORDS = re.compile(r"(?<!^)(?=[A-Z])")


def refusal_words(error: BaseException) -> str:
    """The name of an error: `numeric value out of range`.

    What Postgres says beside it quotes what it was given: a number, a row, the text of an answer.
    """
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    name = type(cause).__name__
    return _WORDS.sub(" ", name).lower() if isinstance(cause, psycopg.Error) else name
