"""People's decisions and remarks on records, audits of samples, and screening modes."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from ..values.frozen import Frozen

UNSURE = "uncertain"
# A person's verdict on two records that may be copies. Copies: one record leaves the screening as a duplicate.
CopyVerdict: TypeAlias = Literal["copies", "different"]


class HumanStage(StrEnum):
    """The stage of a review in which people decide about a record."""

    OWN = "own"  # the batch's question: for a screening, title and abstract
    RETRIEVAL = "retrieval"  # whether the report could be retrieved
    FULL_TEXT = "full-text"

    @property
    def values(self) -> tuple[str, ...]:
        """The possible decisions; empty if the batch's operation defines them."""
        return {
            HumanStage.OWN: (),
            HumanStage.RETRIEVAL: ("retrieved", "not retrieved"),
            HumanStage.FULL_TEXT: ("include", "exclude", UNSURE),
        }[self]


class Override(Frozen):
    """One person's decision on an item. A reviewer's latest decision on an item and stage is valid until withdrawn.

    If several reviewers have decided, the latest decision with `settles` counts. Without such a decision, a unanimous
    decision counts. Otherwise the reviewers are in conflict, and no decision counts.
    """

    batch_id: str
    index: int  # place in the batch, from 0
    item_id: str
    stage: HumanStage = HumanStage.OWN
    value: Any = None  # replaces the operation's value; None in an extraction: the record does not contain the value
    withdrawn: bool = False  # True: no decision remains; `value` is None then
    reason: str | None = None  # reason why a full text is excluded, or could not be retrieved
    settles: bool = False  # True: the decision counts before other reviewers' decisions
    note: str | None = None
    reviewer: str  # name that the reviewer gave
    created_at: datetime  # by the database's clock
    system_decided: bool = False  # True: the software has a decision, by a model or by a rule before any model
    system_value: Any = None  # the software's present decision

    @property
    def confirms(self) -> bool:
        """True if the human agrees with the software's decision."""
        return not self.withdrawn and self.system_decided and bool(self.value == self.system_value)


class RemarkKind(StrEnum):
    """The kind of a remark."""

    LABEL = "label"  # a few words that several records share, for sorting
    NOTE = "note"  # a text about this record


class Remark(Frozen):
    """One label or note on a record."""

    kind: RemarkKind
    text: str
    reviewer: str  # last author
    created_at: datetime  # by the database's clock


class ScreeningMode(StrEnum):
    """The rule that says which decisions people see while they read the records of a batch."""

    SINGLE = "single"  # all decisions
    PAIR = "pair"  # no decision on a record, by people or the model, until two people have decided on it
    MODEL_SECOND = "model_second"  # no decision on a record, by people or the model, until the reader has decided on it
    MODEL_AUDITED = "model_audited"  # no decision on a record of the audit, by people or the model, until it is judged

    @property
    def blind(self) -> bool:
        """True if people decide on every record without seeing others' decisions."""
        return self in (ScreeningMode.PAIR, ScreeningMode.MODEL_SECOND)


class ScreeningModeSet(Frozen):
    """The screening mode of a batch, and who set it."""

    mode: ScreeningMode = ScreeningMode.SINGLE
    set_by: str | None = None  # None: not set yet
    set_at: datetime | None = None  # by the database's clock


class Stratum(StrEnum):
    """The kind of exclusions that an audit's sample is drawn from."""

    ALL = "all"
    RULES = "rules"  # by the initial filter, before any model
    MODEL = "model"


class AuditItem(Frozen):
    """One record of an audit's sample, with a person's decision on it."""

    index: int  # place in the batch, from 0
    item_id: str
    include: bool | None = None  # a human's decision; None: not yet
    note: str | None = None
    reviewer: str | None = None
    decided_at: datetime | None = None


class Audit(Frozen):
    """A random sample of excluded records, with people's decisions on these records so far."""

    id: str
    batch_id: str
    seed: int
    stratum: Stratum
    population: int  # excluded records in the population
    created_at: datetime
    items: tuple[AuditItem, ...]  # in the order of the draw

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
