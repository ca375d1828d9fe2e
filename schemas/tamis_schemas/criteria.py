"""The criteria of a review: its question, and what it includes and excludes."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .words import Words

MAX_EXAMPLES = 20
LONGEST_TITLE = 500  # characters of an example; all of it is sent with every record
LONGEST_ABSTRACT = 3_000
LONGEST_REASON = 500


class Criterion(BaseModel):
    """One criterion under the label by which an answer refers to it (`I1`, `I2`, ... and `E1`, `E2`, ...)."""

    model_config = ConfigDict(frozen=True)

    label: str
    text: str
    excludes: bool


class WorkedExample(BaseModel):
    """A record that a person has decided about, by which a model sees how the criteria are meant."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Annotated[Words, Field(max_length=LONGEST_TITLE)]
    abstract: Annotated[Words, Field(max_length=LONGEST_ABSTRACT)] | None = None  # its beginning is enough
    decision: Literal["include", "exclude"]
    reason: Annotated[Words, Field(max_length=LONGEST_REASON)] | None = None  # the criterion that decided, for one


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
    # Left out where there are none: a ledger from before there were examples holds the same criteria as it does now.
    examples: list[WorkedExample] = Field(
        default_factory=list, max_length=MAX_EXAMPLES, exclude_if=lambda given: not given
    )

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
