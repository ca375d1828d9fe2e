"""Inclusion: include, exclude or uncertain (spec 3)."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from ..criteria import SearchCriteria


class Inclusion(BaseModel):
    """A record against a review's criteria; the value is a status, the detail an `InclusionDecision`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    operation: Literal["inclusion"] = "inclusion"
    criteria: SearchCriteria
