"""Inclusion: include, exclude or uncertain."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Literal

from pydantic import StrictBool

from ..answers.results import InclusionStatus
from ..values.words import Words
from ..values.written import without_empty
from .criteria import SearchCriteria
from .kind import OperationKind
from .panel import Panel


class UnclearPolicy(StrEnum):
    """The policy for a criterion on which the record is unclear. Under every policy the questions are the same."""

    INCLUDE = "include"  # recall first: an unclear verdict neither excludes a record nor stops its inclusion
    REFER = "refer"  # an unclear verdict makes the record uncertain: a person decides
    EXCLUDE = "exclude"  # precision first: an unclear inclusion criterion counts as not met


class UnverifiedPolicy(StrEnum):
    """The policy for an exclusion without a quote that is in the record.

    The model gets the same questions under both policies.
    """

    REFER = "refer"  # the record is uncertain: a person decides
    EXCLUDE = "exclude"  # the exclusion counts, flagged if a quote is not in the record


class Inclusion(OperationKind):
    """The screening of a record by a review's criteria; the value is a status, the detail an `InclusionDecision`."""

    includes: ClassVar[str] = InclusionStatus.INCLUDE.value
    excludes: ClassVar[str] = InclusionStatus.EXCLUDE.value
    unsure: ClassVar[str] = InclusionStatus.UNCERTAIN.value
    stage_field: ClassVar[str] = "passes"

    operation: Literal["inclusion"] = "inclusion"
    criteria: SearchCriteria
    unclear: UnclearPolicy = UnclearPolicy.INCLUDE
    unverified: UnverifiedPolicy = UnverifiedPolicy.REFER
    # The id of the batch whose human decisions become the examples; a submitted batch's criteria contain them.
    examples_from: Words | None = None
    graded: StrictBool = False  # True: the model also grades the record's relevance, from 0 to 100
    panel: Panel | None = None  # several models; None: the batch's model

    _written = without_empty("examples_from", "graded", "panel")

    def value_type(self) -> type[str]:
        """Return `str`, the type of the values `include`, `exclude` and `uncertain`."""
        return str

    def goes_on(self, value: object, narrowed: Any) -> bool:
        """Return whether `value`, a record's status, is in `narrowed`, the statuses that the stage lets pass."""
        return value in narrowed


def as_asked_for(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that the caller chose, as JSON, to compare submissions.

    Examples from a batch and the default policy for unverified exclusions are omitted.
    """
    result = dict(params)
    if result.get("unverified") == UnverifiedPolicy.REFER:
        del result["unverified"]
    if result.get("examples_from") is None:
        return result
    return {**result, "criteria": {name: value for name, value in result["criteria"].items() if name != "examples"}}
