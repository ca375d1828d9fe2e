"""The reports of a screening from the ledger: sought, retrieved, assessed and included, as people decided."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, String, case, cast, func, literal, select

from tamis_schemas import HumanStage, OperationFailed
from tamis_schemas.answers.override import UNSURE
from tamis_schemas.batches.flow import ReportFlow, Tally
from tamis_schemas.ledger.verdicts import is_value

from ..decisions.final_outcome import Outcome, outcomes
from ..decisions.report_stages import unpassed
from ..ledger.overrides import standing, standing_decisions
from .prisma import NO_REASON
from .tallied import OfRecords

# A line of a note names the study that a report is of: "study: Smith 2020". Reports of one name are of one study.
STUDY = r"(?in)^\s*study\s*:\s*(\S.*?)\s*$"
MOST_NAMED = 5  # records in one error
AWAITED, LOST, UNASSESSED = "awaited", "not retrieved", "unassessed"
EXCLUDED, UNCERTAIN, CONFLICT, INCLUDED = "excluded", "uncertain", "conflict", "included"


def read_reports(connection: Connection, batch: Row[Any], of: OfRecords | None = None) -> ReportFlow | None:
    """The reports of what passed a row of `batches`; None where nobody has decided about any.

    `of`: of some records alone, by their place in the review's first batch.

    A report that somebody has assessed was retrieved, whatever is said of its retrieval.

    Raises `OperationFailed` naming the records with such a decision that did not pass the screening.
    """
    view = standing_decisions.c
    decided = select(view.idx).where(view.batch_id == batch.id, view.stage != HumanStage.OWN.value).limit(1)
    if connection.execute(decided).first() is None:
        return None
    if others := unpassed(connection, batch.id, batch.operation):
        more = f"; {len(others) - MOST_NAMED:,} more" * (len(others) > MOST_NAMED)
        raise OperationFailed("; ".join(one.words for one in others[:MOST_NAMED]) + more)
    return _counted(connection.execute(_ways(batch, of)))


def _ways(batch: Row[Any], of: OfRecords | None) -> Any:
    """Return a statement of how many reports went which way, for which reason, and of which studies."""
    each = outcomes(batch.id, batch.operation).subquery("each")
    got, read = (
        standing(batch.id, stage=stage).alias(stage.name.lower())
        for stage in (HumanStage.RETRIEVAL, HumanStage.FULL_TEXT)
    )
    way = case(
        (read.c.conflict, literal(CONFLICT)),
        (is_value(read.c.value, "include"), literal(INCLUDED)),
        (is_value(read.c.value, "exclude"), literal(EXCLUDED)),
        (is_value(read.c.value, UNSURE), literal(UNCERTAIN)),
        (is_value(got.c.value, "not retrieved"), literal(LOST)),
        (is_value(got.c.value, "retrieved"), literal(UNASSESSED)),
        else_=literal(AWAITED),
    )
    reason = case((way == EXCLUDED, read.c.reason), (way == LOST, got.c.reason), else_=None)
    named = literal("named ") + func.lower(func.substring(read.c.note, STUDY))
    study = case(
        (way == INCLUDED, func.coalesce(named, literal("of record ") + cast(each.c.record, String))), else_=None
    )
    statement = (
        select(
            way.label("way"),
            reason.label("reason"),
            func.count().label("n"),
            func.count(study.distinct()).label("studies"),
        )
        .select_from(each)
        .outerjoin(got, got.c.idx == each.c.idx)
        .outerjoin(read, read.c.idx == each.c.idx)
        .where(each.c.outcome == Outcome.PASSED.value)
        .group_by(way, reason)
        .order_by(func.count().desc(), reason)
    )
    return statement if of is None else statement.where(of(each.c.record))


def _counted(rows: Iterable[Any]) -> ReportFlow:
    found = list(rows)

    def n(way: str) -> int:
        return sum(row.n for row in found if row.way == way)

    def by_reason(way: str) -> tuple[Tally, ...]:
        return tuple(Tally(name=row.reason or NO_REASON, n=row.n) for row in found if row.way == way)

    return ReportFlow(
        sought=sum(row.n for row in found),
        not_retrieved=by_reason(LOST),
        awaited=n(AWAITED),
        unassessed=n(UNASSESSED),
        excluded=by_reason(EXCLUDED),
        uncertain=n(UNCERTAIN),
        conflicts=n(CONFLICT),
        included=n(INCLUDED),
        studies=sum(row.studies for row in found),
    )
