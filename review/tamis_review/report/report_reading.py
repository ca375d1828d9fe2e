"""The reports of a screening from the ledger: sought, retrieved, assessed and included, as people decided."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, Select, String, case, cast, func, literal, select, true

from tamis_producer.ledger.overrides import standing_at, standing_decisions
from tamis_schemas import HumanStage, OperationFailed
from tamis_schemas.answers.override import UNSURE
from tamis_schemas.batches.flow import ReportFlow, Tally
from tamis_schemas.ledger import items, payloads
from tamis_schemas.ledger.verdicts import is_value

from ..decisions.final_outcome import Outcome, outcomes
from ..decisions.report_stages import unpassed, unpassed_words
from .figures import ReportRow, ReportWay
from .flow_template import NO_REASON
from .tallied import OfRecords

# A line of a note names the study that a report is of: "study: Smith 2020". Reports of one name are of one study.
STUDY = r"(?in)^\s*study\s*:\s*(\S.*?)\s*$"


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
        raise OperationFailed(unpassed_words(others))
    return _counted(connection.execute(_ways(batch, of)))


def read_report_rows(connection: Connection, batch: Row[Any]) -> tuple[ReportRow, ...]:
    """Each report that was sought, in the order of the records, with what people decided about it."""
    each = _each_report(batch, None).subquery("each_report")
    there = (items.c.batch_id == batch.id) & (items.c.idx == each.c.idx)
    statement = (
        select(each, items.c.item_id, payloads.c.payload.op("->>")("title").label("title"))
        .join(items, there)
        .join(payloads, (payloads.c.batch_id == items.c.batch_id) & (payloads.c.idx == items.c.idx))
        .order_by(each.c.record)
    )
    return tuple(
        ReportRow(
            index=row.record,
            item_id=row.item_id,
            title=row.title,
            way=row.way,
            reason=row.reason,
            study=row.study,
            reviewers=tuple(sorted({one["reviewer"] for one in (*(row.got_by or ()), *(row.read_by or ()))})),
        )
        for row in connection.execute(statement)
    )


def _each_report(batch: Row[Any], of: OfRecords | None) -> Select[Any]:
    """Return a statement of the reports that are sought: which way each went, why, and the study that is named."""
    each = outcomes(batch.id, batch.operation).subquery("each")
    got, read = (
        standing_at(batch.id, each.c.idx, stage=stage) for stage in (HumanStage.RETRIEVAL, HumanStage.FULL_TEXT)
    )
    way = case(
        (read.c.conflict, literal(ReportWay.CONFLICT.value)),
        (is_value(read.c.value, "include"), literal(ReportWay.INCLUDED.value)),
        (is_value(read.c.value, "exclude"), literal(ReportWay.EXCLUDED.value)),
        (is_value(read.c.value, UNSURE), literal(ReportWay.UNCERTAIN.value)),
        (is_value(got.c.value, "not retrieved"), literal(ReportWay.LOST.value)),
        (is_value(got.c.value, "retrieved"), literal(ReportWay.UNASSESSED.value)),
        else_=literal(ReportWay.AWAITED.value),
    )
    why = case(
        (way == ReportWay.EXCLUDED.value, read.c.reason), (way == ReportWay.LOST.value, got.c.reason), else_=None
    )
    study = case((way == ReportWay.INCLUDED.value, func.substring(read.c.note, STUDY)), else_=None)
    statement = (
        select(
            *(each.c.idx, each.c.record, way.label("way"), why.label("reason"), study.label("study")),
            *(got.c.decisions.label("got_by"), read.c.decisions.label("read_by")),
        )
        .select_from(each)
        .outerjoin(got, true())
        .outerjoin(read, true())
        .where(each.c.outcome == Outcome.PASSED.value)
    )
    return statement if of is None else statement.where(of(each.c.record))


def _ways(batch: Row[Any], of: OfRecords | None) -> Select[Any]:
    """Return a statement of how many reports went which way, for which reason, and of how many studies."""
    each = _each_report(batch, of).subquery("each_report")
    alone = literal("of record ") + cast(each.c.record, String)
    study = func.coalesce(literal("named ") + func.lower(each.c.study), alone)
    return (
        select(
            *(each.c.way, each.c.reason),
            func.count().label("n"),
            func.count(study.distinct()).filter(each.c.way == ReportWay.INCLUDED.value).label("studies"),
        )
        .group_by(each.c.way, each.c.reason)
        .order_by(func.count().desc(), each.c.reason)
    )


def _counted(rows: Iterable[Any]) -> ReportFlow:
    found = list(rows)

    def n(way: ReportWay) -> int:
        return sum(row.n for row in found if row.way == way)

    def by_reason(way: ReportWay) -> tuple[Tally, ...]:
        return tuple(Tally(name=row.reason or NO_REASON, n=row.n) for row in found if row.way == way)

    return ReportFlow(
        sought=sum(row.n for row in found),
        not_retrieved=by_reason(ReportWay.LOST),
        awaited=n(ReportWay.AWAITED),
        unassessed=n(ReportWay.UNASSESSED),
        excluded=by_reason(ReportWay.EXCLUDED),
        uncertain=n(ReportWay.UNCERTAIN),
        conflicts=n(ReportWay.CONFLICT),
        included=n(ReportWay.INCLUDED),
        studies=sum(row.studies for row in found),
    )
