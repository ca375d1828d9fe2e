"""The criteria of a review: its question, and what it includes and excludes."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .words import Words


class Criterion(BaseModel):
    """One criterion under the label by which an answer refers to it (`I1`, `I2`, ... and `E1`, `E2`, ...)."""

    model_config = ConfigDict(frozen=True)

    label: str
    text: str
    excludes: bool


class SearchCriteria(BaseModel):
    """What a review is looking for (spec 3). At least one inclusion or exclusion criterion."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    research_question: Words
    purpose: Words | None = None
    inclusion_criteria: list[Words] = Field(default_factory=list, max_length=100)
    exclusion_criteria: list[Words] = Field(default_factory=list, max_length=100)
    date_range: tuple[int, int] | None = None  # first and last year, both included
    study_types: list[Words] = Field(default_factory=list)
    custom_keywords: list[Words] = Field(default_factory=list)

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if not self.inclusion_criteria and not self.exclusion_criteria:
            raise ValueError("inclusion_criteria or exclusion_criteria must name at least one criterion")
        if self.date_range is not None and self.date_range[0] > self.date_range[1]:
            raise ValueError(f"date_range begins after it ends: {self.date_range[0]} > {self.date_range[1]}")
        return self

    def labelled(self) -> list[Criterion]:
        """Every criterion under its label, inclusion first, in the order given."""
        included = [
            Criterion(label=f"I{n}", text=text, excludes=False) for n, text in enumerate(self.inclusion_criteria, 1)
        ]
        excluded = [
            Criterion(label=f"E{n}", text=text, excludes=True) for n, text in enumerate(self.exclusion_criteria, 1)
        ]
        return included + excluded
