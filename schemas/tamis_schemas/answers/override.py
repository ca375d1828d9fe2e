"""The words of people on records: overrides, remarks, audits of samples, and the mode in which they read."""

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


class RemarkKind(StrEnum):
    """The kind of a remark."""

    LABEL = "label"  # a few words that several records share: what teams sort by
    NOTE = "note"  # a text about this one


class Remark(Frozen):
    """One label or note on a record."""

    kind: RemarkKind
    text: str
    reviewer: str  # who put it there last
    created_at: datetime  # by the database's clock


class ScreeningMode(StrEnum):
    """Whose decisions people see while they read the records of a batch."""

    SINGLE = "single"  # everybody's, and the model's
    PAIR = "pair"  # nobody's on a record, the model's neither, until two people have decided on it
    MODEL_SECOND = "model_second"  # nobody's on a record, the model's neither, until one has decided on it oneself
    MODEL_AUDITED = "model_audited"  # nobody's on a record drawn for the audit, the model's neither, until it is judged

    @property
    def blind(self) -> bool:
        """True where people decide on every record without seeing what others said of it."""
        return self in (ScreeningMode.PAIR, ScreeningMode.MODEL_SECOND)


class ScreeningModeSet(Frozen):
    """The screening mode of a batch, and who set it."""

    mode: ScreeningMode = ScreeningMode.SINGLE
    set_by: str | None = None  # None: nobody has set one
    set_at: datetime | None = None  # by the database's clock


class Stratum(StrEnum):
    """The exclusions that a sample is drawn from."""

    ALL = "all"
    RULES = "rules"  # of the initial filter, before any model was asked
    MODEL = "model"


class AuditItem(Frozen):
    """One record of a sample."""

    index: int  # place in the batch, from 0
    item_id: str
    include: bool | None = None  # what a human says; None: nothing yet
    note: str | None = None
    reviewer: str | None = None
    decided_at: datetime | None = None


class Audit(Frozen):
    """A sample as it was drawn, with what was decided about its records so far."""

    id: str
    batch_id: str
    seed: int
    stratum: Stratum
    population: int  # excluded records that it was drawn from
    created_at: datetime
    items: tuple[AuditItem, ...]  # in the order in which they were drawn

    @property
    def sample(self) -> int:
        """The number of records drawn."""
        return len(self.items)

    @property
    def decided(self) -> int:
        """The number of records that a human has judged."""
        return sum(item.include is not None for item in self.items)

    @property
    def missed(self) -> tuple[AuditItem, ...]:
        """The records that a human would have included."""
        return tuple(item for item in self.items if item.include)
