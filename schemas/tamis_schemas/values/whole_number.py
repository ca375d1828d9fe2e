"""Whole numbers in JSON."""

from typing import Annotated

from pydantic import BeforeValidator, Field


def _as_int(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


# JSON Schema counts 6.0 as an integer. Texts and booleans are refused.
WholeNumber = Annotated[int, Field(strict=True), BeforeValidator(_as_int)]
