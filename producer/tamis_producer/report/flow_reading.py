"""The flow from the ledger: where every record of a batch or a review went, counted by SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Row, func, select

from tamis_schemas import OperationFailed, Source
from tamis_schemas.flow import Flow, FlowStage, Tally

from .outcome import BEFORE_SCREENING, Outcome, outcomes


@dataclass(frozen=True)
class Tallied:
    """A batch's items by outcome and reason, the most frequent first."""

    rows: tuple[Any, ...]  # each with `outcome`, `reason`, `n`, `marked`

    def n(self, outcome: Outcome) -> int:
        return sum(row.n for row in self.rows if row.outcome == outcome)

    def tallies(self, outcome: Outcome) -> tuple[Tally, ...]:
        return tuple(Tally(name=row.reason, n=row.n) for row in self.rows if row.outcome == outcome)

    @property
    def removed(self) -> int:
        return sum(self.n(outcome) for outcome in BEFORE_SCREENING)

    @property
    def marked(self) -> int:
        return sum(row.marked for row in self.rows)


def tally(connection: Connection, batch: Row[Any]) -> Tallied:
    """The items of a row of `batches`, counted."""
    each = outcomes(batch.id, batch.operation).subquery("each")
    statement = (
        select(
            each.c.outcome,
            each.c.reason,
            func.count().label("n"),
            func.count().filter(each.c.marked).label("marked"),
        )
        .group_by(each.c.outcome, each.c.reason)
        .order_by(func.count().desc(), each.c.reason)
    )
    return Tallied(tuple(connection.execute(statement)))


def read_flow(connection: Connection, rows: Sequence[Any], tallied: Sequence[Tallied]) -> Flow:
    """The flow of these rows of `batches`, stage by stage. Raises `OperationFailed` where it does not add up."""
    first, batch = tallied[0], rows[0]
    stages = [_stage(connection, rows, number, counted) for number, counted in enumerate(tallied)]
    try:
        return Flow(
            identified=(Tally(name=_origin(batch, source_of(batch)), n=batch.n_items),),
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
        passed=counted.n(Outcome.PASSED),
        excluded=counted.tallies(Outcome.EXCLUDED),
        uncertain=counted.n(Outcome.UNCERTAIN),
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


def source_of(batch: Row[Any]) -> Source | None:
    """Where the batch's records come from, where they come from a file."""
    return None if batch.source is None else Source.model_validate(batch.source)


def _origin(batch: Row[Any], source: Source | None) -> str:
    if source is not None:
        return source.file
    return batch.label or "records submitted by a program"
