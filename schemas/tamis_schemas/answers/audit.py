"""An audit: a random sample of the records that the software excluded, judged by a human."""

from datetime import datetime
from enum import StrEnum

from ..values.frozen import Frozen


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
