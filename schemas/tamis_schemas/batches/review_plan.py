"""A review's plan: the stages of a record, and the rules between them."""

from collections.abc import Callable
from typing import Annotated, Any, Self, TypeVar

from pydantic import ConfigDict, Field, StrictFloat, model_validator

from ..answers.results import InclusionStatus, ItemResult
from ..errors import InvalidParameters, NotAllowed
from ..operations import Judge, Operation, as_asked_for, operation_name, panel_of
from ..values.frozen import Frozen
from ..values.money import Cost
from ..values.words import Words
from .status import ItemStatus
from .steering import NO_STEERING, Steering

T = TypeVar("T")

PASSES_BY_DEFAULT = (InclusionStatus.INCLUDE,)
_BELONG = {"passes": "an inclusion", "at_least": "a score"}  # fields of a stage, with their operation


class ReviewStage(Frozen):
    """One stage of a review: an operation, and the rule that decides which records continue."""

    model_config = ConfigDict(extra="forbid")

    operation: Annotated[Operation, Field(discriminator="operation")]
    model: Words | None = None  # None: the workers' model
    passes: tuple[InclusionStatus, ...] = PASSES_BY_DEFAULT  # for an inclusion: the statuses that continue
    at_least: StrictFloat | None = None  # for a score: the lowest that continues; None: every score
    max_cost: Annotated[Cost, Field(ge=0, lt=1_000_000_000, decimal_places=9)] | None = None  # dollars; None: no budget
    steering: Steering = NO_STEERING

    @model_validator(mode="after")
    def _checked(self) -> Self:
        used = self.operation.stage_field
        for field, whose in _BELONG.items():
            if field != used and getattr(self, field) != type(self).model_fields[field].default:
                raise ValueError(f"{field} belongs to {whose}, not to {self.name}")
        if self.model is not None and panel_of(self.operation) is not None:
            raise ValueError("model: the stage has a panel; add the model to the panel's models")
        if InclusionStatus.EXCLUDE in self.passes or not self.passes:
            raise ValueError("passes must name include, uncertain or both: excluded records do not continue")
        return self

    @property
    def name(self) -> str:
        """The operation's name: inclusion, extract_fields, ..."""
        return operation_name(type(self.operation))

    @property
    def asked_of(self) -> str | None:
        """The model that the stage asks, or all models of its panel, in one line; None: the workers' model."""
        panel = panel_of(self.operation)
        return self.model if panel is None else panel.words

    def lets_pass(self, row: ItemResult) -> bool:
        """Return whether a record continues to the next stage.

        A person's decision overrides the model's decision. A failed item without a person's decision does not continue.
        A record on which people disagree does not continue either.
        """
        narrowed = None if self.operation.stage_field is None else getattr(self, self.operation.stage_field)
        if row.conflict:
            return False
        if row.override is None and (
            row.status != ItemStatus.DECIDED or row.result is None or row.result.error is not None
        ):
            return False
        return self.operation.goes_on(row.final_value, narrowed)


class ReviewPlan(Frozen):
    """The stages of a review in order. Each stage after the first gets the records that passed the previous stage."""

    model_config = ConfigDict(extra="forbid")

    stages: tuple[ReviewStage, ...] = Field(min_length=1, max_length=10)

    def asking(self, model: str | None) -> Self:
        """Return the same plan, with this model in every stage that names no model."""
        stages = [stage if stage.asked_of else stage.model_copy(update={"model": model}) for stage in self.stages]
        return self.model_copy(update={"stages": tuple(stages)})

    def steered(self, steering: Steering) -> Self:
        """Return the same plan, with `steering` overriding each stage's own steering."""
        stages = [stage.model_copy(update={"steering": steering.over(stage.steering)}) for stage in self.stages]
        return self.model_copy(update={"stages": tuple(stages)})

    def with_operations(self, change: Callable[[Operation], Operation]) -> Self:
        """Return the same plan, with `change` applied to each stage's operation."""
        stages = [stage.model_copy(update={"operation": change(stage.operation)}) for stage in self.stages]
        return self.model_copy(update={"stages": tuple(stages)})

    def each(self, work: Callable[[ReviewStage], T], *, skip: int = 0) -> tuple[T, ...]:
        """Call `work` for each stage after the first `skip` stages, and return the results.

        Raises the errors of `work`. The messages of `InvalidParameters` and `NotAllowed` begin with the stage's number
        and name.
        """
        return tuple(_of_stage(number, stage, work) for number, stage in enumerate(self.stages[skip:], skip + 1))

    @property
    def content(self) -> dict[str, Any]:
        """The content that identifies the plan, as JSON values.

        Budgets, tiers, and examples that were taken from a batch are omitted.
        """
        content = self.model_dump(mode="json", exclude={"stages": {"__all__": {"max_cost", "steering"}}})
        for stage, fields in zip(self.stages, content["stages"], strict=True):
            fields["operation"] = as_asked_for(fields["operation"])
            if stage.steering.content:
                fields["steering"] = stage.steering.content
        return content

    @model_validator(mode="after")
    def _checked(self) -> Self:
        for place, stage in enumerate(self.stages):
            if not isinstance(stage.operation, Judge):
                continue
            if place == 0:
                raise ValueError("stages: a judge needs an earlier stage whose results it judges")
            if place < len(self.stages) - 1:
                raise ValueError("stages: a judge must be the last stage, because it judges results, not records")
        return self


def _of_stage(number: int, stage: ReviewStage, work: Callable[[ReviewStage], T]) -> T:
    try:
        return work(stage)
    except (InvalidParameters, NotAllowed) as error:
        raise type(error)(f"stage {number}, {stage.name}: {error}") from error
