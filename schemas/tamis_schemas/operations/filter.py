"""Filter: yes or no (spec 1)."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from ..values.words import Words


class Filter(BaseModel):
    """Does the item meet the criteria? The value is always True or False."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    operation: Literal["filter"] = "filter"
    criteria: Words
    include_reasoning: bool = True
