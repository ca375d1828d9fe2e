"""Filter: yes or no (spec 1)."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from ..values.words import Words
from .kind import OperationKind


class Filter(OperationKind):
    """Does the item meet the criteria? The value is always True or False."""

    includes: ClassVar[bool] = True
    excludes: ClassVar[bool] = False
    excluded_because: ClassVar[str] = "the question is answered with no"  # it has one question and no criteria
    example: ClassVar[Mapping[str, Any]] = {"criteria": "Is it about people who have had a joint replaced?"}

    operation: Literal["filter"] = "filter"
    criteria: Words
    include_reasoning: bool = True

    def value_type(self) -> type[bool]:
        """Return the type of its values."""
        return bool
