"""The items of a batch counted in the ledger, by outcome and reason."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, Row, func, select

from tamis_schemas.batches.flow import Tally

from ..decisions.final_outcome import BEFORE_SCREENING, CHANGED, CONFIRMED, Outcome, outcomes

# A condition on some records, told of the column with their place in the review's first batch.
OfRecords: TypeAlias = Callable[[ColumnElement[Any]], ColumnElement[bool]]


@dataclass(frozen=True)
class Tallied:
    """A batch's items by outcome and reason, the most frequent first."""

    rows: tuple[Any, ...]  # each with `system`, `outcome`, `human`, `reason`, `n`, `marked`, `unverified`

    def n(self, outcome: Outcome) -> int:
        """Records with this outcome in the end."""
        return sum(row.n for row in self.rows if row.outcome == outcome)

    def system(self, outcome: Outcome) -> int:
        """Records with this outcome before any human decided."""
        return sum(row.n for row in self.rows if row.system == outcome)

    def tallies(self, outcome: Outcome) -> tuple[Tally, ...]:
        """Records with this outcome in the end and by the software, by its reasons."""
        return _by_reason(row for row in self.rows if row.outcome == row.system == outcome)

    def system_tallies(self, outcome: Outcome) -> tuple[Tally, ...]:
        """Records with this outcome before any human decided, by reason."""
        return _by_reason(row for row in self.rows if row.system == outcome)

    def by_human(self, outcome: Outcome) -> int:
        """Records with this outcome because a human decided otherwise than the software, or where it had not."""
        return sum(row.n for row in self.rows if row.outcome == outcome and row.human == CHANGED)

    def with_human(self, outcome: Outcome) -> int:
        """Records with this outcome of which a human said what the software says."""
        return sum(row.n for row in self.rows if row.outcome == outcome and row.human == CONFIRMED)

    @property
    def removed_by(self) -> tuple[Tally, ...]:
        """Records that were kept out before screening, by rule."""
        return _by_reason(row for row in self.rows if row.outcome in BEFORE_SCREENING)

    @property
    def total(self) -> int:
        return sum(row.n for row in self.rows)

    @property
    def confirmed(self) -> int:
        return sum(row.n for row in self.rows if row.human == CONFIRMED)

    @property
    def taken_back(self) -> int:
        """Records that software had kept out before screening, and that a human decided about."""
        return sum(row.n for row in self.rows if row.system in BEFORE_SCREENING and row.outcome not in BEFORE_SCREENING)

    @property
    def removed(self) -> int:
        return sum(self.n(outcome) for outcome in BEFORE_SCREENING)

    @property
    def marked(self) -> int:
        return sum(row.marked for row in self.rows)

    @property
    def unverified(self) -> int:
        """Uncertain records that the model excluded without a verified quote."""
        return sum(row.unverified for row in self.rows if row.outcome == Outcome.UNCERTAIN)


def tally(connection: Connection, batch: Row[Any], of: OfRecords | None = None) -> Tallied:
    """The items of a row of `batches`, counted; `of`: some alone, by their place in the review's first batch."""
    each = outcomes(batch.id, batch.operation).subquery("each")
    statement = (
        select(
            each.c.system,
            each.c.outcome,
            each.c.human,
            each.c.reason,
            func.count().label("n"),
            func.count().filter(each.c.marked).label("marked"),
            func.count().filter(each.c.unverified).label("unverified"),
        )
        .group_by(each.c.system, each.c.outcome, each.c.human, each.c.reason)
        .order_by(func.count().desc(), each.c.reason, each.c.system, each.c.outcome, each.c.human)
    )
    if of is not None:
        statement = statement.where(of(each.c.record))
    return Tallied(tuple(connection.execute(statement)))


def _by_reason(rows: Iterable[Any]) -> tuple[Tally, ...]:
    counted: Counter[str] = Counter()
    for row in rows:
        counted[row.reason or row.outcome] += row.n
    ordered = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    return tuple(Tally(name=name, n=n) for name, n in ordered)
