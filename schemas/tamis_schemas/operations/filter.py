"""Filter: yes or no."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import StrictBool

from ..values.words import Words
from ..values.written import without_empty
from .kind import OperationKind
from .panel import Panel


class Filter(OperationKind):
    """Does the item meet the criteria? The value is always True or False."""

    includes: ClassVar[bool] = True
    excludes: ClassVar[bool] = False
    excluded_because: ClassVar[str] = "the question is answered with no"  # a filter has one question and no criteria
    example: ClassVar[Mapping[str, Any]] = {"criteria": "Is it about people who have had a joint replaced?"}

    operation: Literal["filter"] = "filter"
    criteria: Words
    include_reasoning: StrictBool = True
    graded: StrictBool = False  # True: the model also grades the item's relevance, from 0 to 100
    panel: Panel | None = None  # several models; None: the batch's model

    _written = without_empty("graded", "panel")

    def value_type(self) -> type[bool]:
        """Return the type of the operation's values."""
        return bool
