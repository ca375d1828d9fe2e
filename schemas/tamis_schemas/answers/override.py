"""An override: what a human decided about an item, beside what the software decided and never over it."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from ..values.frozen import Frozen

UNSURE = "uncertain"


class HumanStage(StrEnum):
    """The stage of a review in which people decide about a record."""

    OWN = "own"  # what the batch asks: of a screening, title and abstract
    RETRIEVAL = "retrieval"  # whether the report could be got hold of
    FULL_TEXT = "full-text"

    @property
    def values(self) -> tuple[str, ...]:
        """What people decide there; none where it is what the batch's operation gives."""
        match self:
            case HumanStage.OWN:
                return ()
            case HumanStage.RETRIEVAL:
                return ("retrieved", "not retrieved")
            case HumanStage.FULL_TEXT:
                return ("include", "exclude", UNSURE)


class Override(Frozen):
    """One decision of a human. Of each reviewer the latest one on an item and stage stands, until it is withdrawn.

    Where several people's stand, the latest that `settles` counts; else what all of them say; else they are in
    conflict, and none counts. An override that says what the software says too is a confirmation: the record was looked
    at, nothing changes.
    """

    batch_id: str
    index: int  # place in the batch, from 0
    item_id: str
    stage: HumanStage = HumanStage.OWN
    value: Any = None  # what the operation would have given; of an extraction None: the record does not hold it
    withdrawn: bool = False  # nothing stands any more; `value` is None then
    reason: str | None = None  # why a full text is excluded, or could not be got
    settles: bool = False  # this one counts, whatever others say
    note: str | None = None
    reviewer: str  # who decided, as they named themselves
    created_at: datetime  # by the database's clock
    system_decided: bool = False  # the software has a decision: a model's, or a rule's before any model was asked
    system_value: Any = None  # that decision, as it is now

    @property
    def confirms(self) -> bool:
        """True where the human says what the software had decided."""
        return not self.withdrawn and self.system_decided and bool(self.value == self.system_value)
