"""The flow from the ledger: where every record of a batch or a review went, counted by SQL."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Row, func, select

from tamis_schemas import OperationFailed
from tamis_schemas.batches.flow import Flow, FlowStage, Tally

from ..decisions.final_outcome import BEFORE_SCREENING, CHANGED, CONFIRMED, Outcome, outcomes
from ..ledger.sources import read_sources
from .source_counts import count_by_source


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

    @property
    def removed_by(self) -> tuple[Tally, ...]:
        """Records that were kept out before screening, by rule."""
        return _by_reason(row for row in self.rows if row.outcome in BEFORE_SCREENING)

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


def tally(connection: Connection, batch: Row[Any]) -> Tallied:
    """The items of a row of `batches`, counted."""
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
    return Tallied(tuple(connection.execute(statement)))


def _by_reason(rows: Iterable[Any]) -> tuple[Tally, ...]:
    counted: Counter[str] = Counter()
    for row in rows:
        counted[row.reason or row.outcome] += row.n
    ordered = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    return tuple(Tally(name=name, n=n) for name, n in ordered)


def read_flow(connection: Connection, rows: Sequence[Any], tallied: Sequence[Tallied]) -> Flow:
    """The flow of these rows of `batches`, stage by stage. Raises `OperationFailed` where it does not add up."""
    first, batch = tallied[0], rows[0]
    stages = [_stage(connection, rows, number, counted) for number, counted in enumerate(tallied)]
    try:
        return Flow(
            identified=_identified(connection, batch),
            duplicates=first.n(Outcome.DUPLICATE),
            ineligible=first.tallies(Outcome.INELIGIBLE),
            removed_otherwise=first.n(Outcome.REMOVED),
            stages=tuple(stages),
        )
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise OperationFailed(f"the ledger's numbers of batch {batch.id} do not add up: {message}") from error


def _stage(connection: Connection, rows: Sequence[Any], number: int, counted: Tallied) -> FlowStage:
    batch = rows[number]
    admitted, held_back = (0, 0) if number == 0 else _between(connection, rows[number - 1], batch)
    return FlowStage(
        operation=batch.operation,
        entered=batch.n_items - counted.removed,
        admitted=admitted,
        held_back=held_back,
        taken_back=counted.taken_back,
        passed=counted.n(Outcome.PASSED),
        passed_by_human=counted.by_human(Outcome.PASSED),
        excluded_by_human=counted.by_human(Outcome.EXCLUDED),
        confirmed=counted.confirmed,
        excluded=counted.tallies(Outcome.EXCLUDED),
        uncertain=counted.n(Outcome.UNCERTAIN),
        unverified=counted.unverified,
        conflicts=counted.n(Outcome.CONFLICT),
        failed=counted.tallies(Outcome.FAILED),
        cancelled=counted.n(Outcome.CANCELLED),
        open=counted.n(Outcome.OPEN),
        marked=counted.marked,
    )


def _between(connection: Connection, before: Row[Any], batch: Row[Any]) -> tuple[int, int]:
    """Records asked about in a stage without having passed the one before; records that passed and were not."""
    earlier = outcomes(before.id, before.operation).subquery("earlier")
    each = outcomes(batch.id, batch.operation).subquery("each")
    later = select(each.c.record).where(each.c.outcome.not_in(BEFORE_SCREENING)).subquery("later")
    passed = func.coalesce(earlier.c.outcome, "") == Outcome.PASSED.value
    statement = select(
        func.count().filter(later.c.record.is_not(None), ~passed).label("admitted"),
        func.count().filter(later.c.record.is_(None), passed).label("held_back"),
    ).select_from(earlier.outerjoin(later, earlier.c.record == later.c.record, full=True))
    row = connection.execute(statement).one()
    return row.admitted, row.held_back


def _identified(connection: Connection, batch: Row[Any]) -> tuple[Tally, ...]:
    """Return the records of each source, in the order of the sources."""
    sources = read_sources(batch)
    if len(sources) < 2:
        name = sources[0].name if sources else batch.label or "records submitted by a program"
        return (Tally(name=name, n=batch.n_items),)
    counts = {count.place: count.identified for count in count_by_source(connection, batch)}
    return tuple(Tally(name=source.name, n=counts.get(place, 0)) for place, source in enumerate(sources))
