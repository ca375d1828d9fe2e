"""A model's words, as far as Postgres can hold them; and the words for what it refuses. Pure."""

import re
from typing import Any

import psycopg
from sqlalchemy.exc import DBAPIError

from tamis_schemas.values.unstorable import UNSTORABLE

_WORDS = re.compile(r"(?<!^)(?=[A-Z])")


def storable(value: Any) -> Any:
    """The value with U+FFFD in place of NUL and of halves of surrogate pairs, in all of its texts."""
    match value:
        case str():
            return value if _can_be_stored(value) else UNSTORABLE.sub("\ufffd", value)
        case dict():
            return {storable(name): storable(part) for name, part in value.items()}
        case list():
            return [storable(part) for part in value]
        case _:
            return value


def refusal_words(error: BaseException) -> str:
    """The name of an error: `numeric value out of range`.

    What Postgres says beside it quotes what it was given: a number, a row, the text of an answer.
    """
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    name = type(cause).__name__
    return _WORDS.sub(" ", name).lower() if isinstance(cause, psycopg.Error) else name


def _can_be_stored(text: str) -> bool:
    """True of nearly every text, told in an eighth of the time that a pattern takes to go through it."""
    if "\0" in text:
        return False
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True
