"""Graded relevance: how far a record fits, from 0 to 100, for operations that are asked to grade. Pure.

The grade comes last in the answer, when everything else is written, so that it changes neither the decision nor the
confidence that stand before it. What it means is said in the system message alone: a server that turns the schema into
a grammar shows its model nothing of it.
"""

from typing import Annotated, Final, Protocol, TypeAlias

from pydantic import AfterValidator, Field

from ..llm.chat import Schema
from .answer_model import InvalidAnswer, object_schema

NAME: Final = "relevance"
MOST: Final = 100

WORDS = """\
Last, grade the relevance of the source data as a whole number from 0 to 100: how likely a careful reader of its full
text would include it. 0 means certainly not, 100 certainly. Use the whole range: the grade puts records in the order in
which people read them, so two records that are not equally likely get different grades."""

RELEVANCE_SCHEMA: Schema = {"type": "integer", "minimum": 0, "maximum": MOST}


def _whole(number: float) -> float:
    if number != int(number):
        raise ValueError("no whole number from 0 to 100")  # 0.85 may be 85 % or next to nothing
    return number


Relevance: TypeAlias = Annotated[float, Field(ge=0, le=MOST), AfterValidator(_whole)]


class Grading(Protocol):
    """An operation that may be told to grade."""

    @property
    def graded(self) -> bool: ...


def graded_system(operation: Grading, system: str) -> str:
    """The system message, with the words on the grade where one is asked for."""
    return f"{system}\n\n{WORDS}" if operation.graded else system


def graded_schema(operation: Grading, schema: Schema) -> Schema:
    """The answer's schema, with the grade as its last property where one is asked for."""
    if not operation.graded:
        return schema
    properties: dict[str, Schema] = schema["properties"]
    return object_schema({**properties, NAME: RELEVANCE_SCHEMA})


def grade(operation: Grading, relevance: float | None) -> int | None:
    """The grade as it is kept; None where none was asked for. Raises `InvalidAnswer` where it is missing."""
    if not operation.graded:
        return None
    if relevance is None:
        raise InvalidAnswer(f"{NAME}: missing")
    return int(relevance)
