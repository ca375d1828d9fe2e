"""Inclusion: include, exclude or uncertain (spec 3)."""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from ..criteria import SearchCriteria


class UnclearPolicy(StrEnum):
    """How a verdict counts that the record leaves open. The model is asked the same under each."""

    INCLUDE = "include"  # recall first: it neither excludes a record nor stops its inclusion
    REFER = "refer"  # any unclear verdict makes the record uncertain: a person decides
    EXCLUDE = "exclude"  # precision first: an unclear inclusion criterion counts as not met


class Inclusion(BaseModel):
    """A record against a review's criteria; the value is a status, the detail an `InclusionDecision`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    operation: Literal["inclusion"] = "inclusion"
    criteria: SearchCriteria
    unclear: UnclearPolicy = UnclearPolicy.INCLUDE
