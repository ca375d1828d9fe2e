"""A text from a caller: never blank, and stripped of the white space around it."""

from typing import Annotated

from pydantic import StringConstraints, WithJsonSchema

Words = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1),
    WithJsonSchema({"type": "string", "minLength": 1, "pattern": r"\S"}),
]
