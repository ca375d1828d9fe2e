"""Extract: one value of any type."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, StrictBool, model_validator

from ..errors import InvalidParameters
from ..values.unstorable import UNSTORABLE
from ..values.words import Words
from .kind import OperationKind, is_number, number_of, yes_or_no

OutputType = Literal["text", "number", "boolean", "enum"]


class Extract(OperationKind):
    """One feature of the item: text, a number, a boolean or one of `enum_values`; None if the item does not have it."""

    report_noun: ClassVar[str] = "extraction"
    reads_chunks: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"instruction": "The kind of training that the intervention consists of"}

    operation: Literal["extract"] = "extract"
    instruction: Words
    output_type: OutputType = "text"
    enum_values: list[Words] | None = Field(default=None, max_length=1000)  # limit of strict modes
    include_reasoning: StrictBool = True

    @model_validator(mode="after")
    def _checked(self) -> Self:
        values = self.enum_values
        if self.output_type != "enum":
            if values is not None:
                raise ValueError(f"enum_values belong to output_type 'enum', not to {self.output_type!r}")
            return self
        if not values:
            raise ValueError("enum_values must name at least one value if output_type is 'enum'")
        for value in values:
            if value != " ".join(value.split()):
                raise ValueError(f"enum_values: {value!r} contains a line break or repeated spaces; use single spaces")
        repeated = next((value for n, value in enumerate(values) if value in values[:n]), None)
        if repeated is not None:
            raise ValueError(f"enum_values: {repeated!r} is named twice")
        return self

    def value_type(self) -> type[bool] | type[float] | type[str]:
        """Return the type of the operation's values, by `output_type`."""
        match self.output_type:
            case "boolean":
                return bool
            case "number":
                return float
        return str

    def checked_value(self, value: object) -> Any:
        """Return a person's value in its stored form. None means that the record contains no such value.

        Raises `InvalidParameters` for an invalid value.
        """
        match self.output_type, value:
            case _, None:
                return None
            case "boolean", bool():
                return value
            case "number", _ if is_number(value):
                return value
            case "text", str() if value.strip():
                if UNSTORABLE.search(value.strip()):
                    raise InvalidParameters("the text contains a character that the ledger cannot store")
                return value.strip()
            case "enum", str():
                if value in (self.enum_values or ()):
                    return value
                raise InvalidParameters(f"{value!r} is none of {', '.join(self.enum_values or ())}")
        raise InvalidParameters(f"{value!r} is not a {self.output_type}; use None if the record does not contain it")

    def value_of_text(self, text: str) -> Any:
        """Return the value in a person's text. Raises `InvalidParameters` for an invalid value."""
        match self.output_type:
            case "number":
                return self.checked_value(number_of(text))
            case "boolean":
                return yes_or_no(text.strip())
        return self.checked_value(text.strip())
