"""A whole number of JSON is taken however it is written, and nothing else is taken for one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from tamis_schemas.values.whole_number import WholeNumber


class Body(BaseModel):
    n: WholeNumber


@given(st.integers(-(2**53), 2**53))
def test_a_whole_number_with_a_fraction_of_zero_is_the_number(n: int) -> None:
    assert Body.model_validate_json(json.dumps({"n": float(n)})).n == n
    assert type(Body(n=float(n)).n) is int  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0.5, "6", True, None, float("inf"), float("nan"), [6]])
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        Body.model_validate({"n": value})


def test_its_schema_is_an_integers() -> None:
    assert Body.model_json_schema()["properties"]["n"]["type"] == "integer"
