"""How far people have read: what they decided about which records, and what nobody has read yet."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from sqlalchemy import Connection, func, select

from tamis_producer.ledger.overrides import standing
from tamis_schemas import DoubleReading, HumanStage
from tamis_schemas.ledger import overrides
from tamis_schemas.operations import verdict

from .final_outcome import Outcome, outcomes

MEASURABLE = 10  # includes read by two people: of fewer the bound on what is overlooked says next to nothing


@dataclass(frozen=True)
class ReadingState:
    """The records of a batch, copies of others left out, and people's standing decisions on them in its own stage.

    A record on which people differ, or of which they are uncertain, is not read: nobody's decision counts.
    """

    software: Mapping[int, Outcome]  # of each record: what became of it before any human decided
    included: Mapping[int, bool]  # of each record that is read, in the order in which they first were
    conflicts: frozenset[int]  # records on which people differ, and nobody has settled it
    uncertain: frozenset[int]  # records that people left open
    double: DoubleReading | None = None  # None: no record was read by two people

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self.software)

    @property
    def read(self) -> int:
        """The number of records on which a decision of people counts."""
        return len(self.included)

    @cached_property
    def found(self) -> int:
        """The number of records that people included."""
        return sum(self.included.values())

    @cached_property
    def unread(self) -> tuple[int, ...]:
        """The records that nobody has read, in the order of the batch."""
        return tuple(place for place in self.software if place not in self.included)

    @cached_property
    def unread_by_software(self) -> Counter[Outcome]:
        """How many of the unread records the software left how."""
        return Counter(self.software[place] for place in self.unread)


def read_reading_state(connection: Connection, batch_id: UUID, operation: str) -> ReadingState:
    """The state of a batch of `operation`, which decides about records; one pass without any text."""
    each = outcomes(batch_id, operation).subquery("each")
    software = select(each.c.idx, each.c.system).where(each.c.system != Outcome.DUPLICATE.value).order_by(each.c.idx)
    of_records = {row.idx: Outcome(row.system) for row in connection.execute(software)}
    human = standing(batch_id)
    first = (
        select(overrides.c.idx, func.min(overrides.c.id).label("id"))
        .where(overrides.c.batch_id == batch_id, overrides.c.stage == HumanStage.OWN.value)
        .group_by(overrides.c.idx)
    )
    # Apart: for a join of the two Postgres expects one row, and goes through the other for each.
    since: dict[int, int] = {row.idx: row.id for row in connection.execute(first)}
    statement = select(human.c.idx, human.c.value, human.c.conflict)
    included: dict[int, bool] = {}
    conflicts, uncertain = set(), set()
    for row in sorted(connection.execute(statement), key=lambda row: since[row.idx]):
        if row.idx not in of_records:  # of a copy: the record that it copies is screened
            continue
        says = None if row.conflict else verdict(row.value)
        if row.conflict:
            conflicts.add(row.idx)
        elif says is None:
            uncertain.add(row.idx)
        else:
            included[row.idx] = says
    double = _read_double(connection, batch_id, included)
    return ReadingState(of_records, included, frozenset(conflicts), frozenset(uncertain), double)


def _read_double(connection: Connection, batch_id: UUID, included: Mapping[int, bool]) -> DoubleReading | None:
    """Count what the first two people said of each record that both decided on their own; who settles has seen both."""
    human = standing(batch_id)
    statement = select(human.c.idx, human.c.decisions).where(human.c.reviewers > 1)
    pairs: dict[int, list[bool | None]] = {}
    for row in connection.execute(statement):
        own = [verdict(one["value"]) for one in row.decisions if not one["settles"]]
        if row.idx in included and len(own) > 1:
            pairs[row.idx] = own[:2]
    seen = [pair for place, pair in pairs.items() if included[place] and True in pair]
    missed = sum(False in pair for pair in seen)
    if not pairs:
        return None
    whole = len(pairs) == len(included)
    return DoubleReading(
        records=len(pairs), includes=len(seen), missed_by_one=missed, whole=whole, counts=len(seen) >= MEASURABLE
    )
