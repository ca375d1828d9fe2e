"""Extract: one value of any type (spec 1)."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..values.words import Words

OutputType = Literal["text", "number", "boolean", "enum"]


class Extract(BaseModel):
    """One feature of the item: text, a number, a boolean or one of `enum_values`; None where it is not present."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    operation: Literal["extract"] = "extract"
    instruction: Words
    output_type: OutputType = "text"
    enum_values: list[Words] | None = Field(default=None, max_length=1000)  # as many as strict modes take
    include_reasoning: bool = True

    @model_validator(mode="after")
    def _checked(self) -> Self:
        values = self.enum_values
        if self.output_type != "enum":
            if values is not None:
                raise ValueError(f"enum_values belong to output_type 'enum', not to {self.output_type!r}")
            return self
        if not values:
            raise ValueError("enum_values must name at least one value where output_type is 'enum'")
        for value in values:
            if value != " ".join(value.split()):
                raise ValueError(
                    f"enum_values: {value!r} holds a line break or a run of spaces; the model is shown one"
                )
        repeated = next((value for n, value in enumerate(values) if value in values[:n]), None)
        if repeated is not None:
            raise ValueError(f"enum_values: {repeated!r} stands there twice")
        return self
