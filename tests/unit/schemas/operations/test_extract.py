"""What one extraction asks for."""

from typing import Any

import pytest
from pydantic import ValidationError

from tamis_schemas.operations.extract import Extract


@pytest.mark.spec("1.12")
def test_an_extraction_asks_for_text_with_reasoning_unless_said_otherwise() -> None:
    extract = Extract(instruction="What is the design?")
    assert (extract.output_type, extract.enum_values, extract.include_reasoning) == ("text", None, True)


@pytest.mark.parametrize("output_type", ["text", "number", "boolean"])
def test_stored_parameters_give_the_extraction_back(output_type: Any) -> None:
    extract = Extract(instruction="x", output_type=output_type, include_reasoning=False)
    assert Extract.model_validate(extract.model_dump(mode="json")) == extract


def test_an_enum_keeps_its_values_in_order_and_as_they_are_written() -> None:
    extract = Extract(instruction="x", output_type="enum", enum_values=["RCT", "cohort", "rct", "case-control"])
    assert extract.enum_values == ["RCT", "cohort", "rct", "case-control"]
    assert Extract.model_validate(extract.model_dump(mode="json")) == extract


@pytest.mark.spec("1.12", "1.15")
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"instruction": " \n"}, "instruction"),
        ({"output_type": "date"}, "output_type"),
        ({"output_type": "enum"}, "enum_values must name at least one value"),
        ({"output_type": "enum", "enum_values": []}, "enum_values must name at least one value"),
        ({"output_type": "enum", "enum_values": ["a", " "]}, "enum_values.1"),
        ({"output_type": "enum", "enum_values": ["a", "b", "a"]}, "enum_values: 'a' is named twice"),
        ({"output_type": "enum", "enum_values": ["a", " a "]}, "enum_values: 'a' is named twice"),
        ({"output_type": "enum", "enum_values": ["a", 1]}, "enum_values.1"),
        ({"output_type": "enum", "enum_values": ["a", None]}, "enum_values.1"),
        ({"output_type": "enum", "enum_values": ["a\nb"]}, "line break"),
        ({"output_type": "enum", "enum_values": ["a  b"]}, "repeated spaces"),
        ({"output_type": "enum", "enum_values": "abc"}, "enum_values"),
        ({"output_type": "enum", "enum_values": [str(n) for n in range(1001)]}, "enum_values"),
        ({"enum_values": ["a"]}, "enum_values belong to output_type 'enum', not to 'text'"),
        ({"output_type": "number", "enum_values": []}, "not to 'number'"),
        ({"output_type": "boolean", "enum_values": ["true"]}, "not to 'boolean'"),
        ({"values": ["a"]}, "values"),
    ],
)
def test_an_extraction_that_cannot_be_asked_for_is_refused_naming_the_field(
    changes: dict[str, Any], named: str
) -> None:
    with pytest.raises(ValidationError, match=named):
        Extract.model_validate({"instruction": "x"} | changes)
