"""The flow from the ledger: the path of every record of a batch or a review, counted by SQL.

The flow counts each batch's items by outcome and reason. It also counts the reports (full texts) sought, retrieved,
assessed and included.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, Row, Select, String, case, cast, func, literal, select, true

from tamis_producer.ledger.overrides import item_decisions, standing_at, standing_decisions
from tamis_producer.ledger.remarks import listed_remarks
from tamis_producer.ledger.sources import read_sources
from tamis_schemas import HumanStage, OperationFailed, RemarkKind, Source, SourceKind
from tamis_schemas.answers.override import UNSURE
from tamis_schemas.batches.flow import Flow, FlowSource, FlowStage, PreviousVersion, ReportFlow, Tally, total
from tamis_schemas.ledger import batches, payloads, remarks
from tamis_schemas.ledger.verdicts import is_value
from tamis_schemas.operations import kind_of

from ..decisions.final_outcome import BEFORE_SCREENING, CONFIRMED, Outcome, outcomes
from ..decisions.record_overrides import unpassed, unpassed_words
from .figures import ReportRow, ReportWay
from .flow_template import NO_REASON
from .identifiers import full_text_of

# Makes an SQL condition on records. Its argument is the column with their numbers in the review's first batch.
OfRecords: TypeAlias = Callable[[ColumnElement[Any]], ColumnElement[bool]]


@dataclass(frozen=True)
class Tallied:
    """The counts of a batch's items, by outcome and reason. The largest counts come first."""

    # Columns: `outcome`, `system`, `human`, `by_human`, `reason` as in `outcomes`; counts `n`, `marked`, `unverified`.
    rows: tuple[Any, ...]

    def n(self, **values: str | bool) -> int:
        """Return the number of records with these values: `n(outcome=Outcome.PASSED, by_human=True)`."""
        return sum(row.n for row in self._with(values))

    def tallies(self, **values: str) -> tuple[Tally, ...]:
        """Return the number of records with these values, for each reason."""
        return _by_reason(self._with(values))

    def _with(self, values: Mapping[str, object]) -> list[Any]:
        return [row for row in self.rows if all(getattr(row, name) == value for name, value in values.items())]

    @property
    def removed_by(self) -> tuple[Tally, ...]:
        """Return the number of records excluded before screening, for each rule."""
        return _by_reason(row for row in self.rows if row.outcome in BEFORE_SCREENING)

    @property
    def taken_back(self) -> int:
        """Return the number of records that the software excluded before screening, but that people brought back."""
        return sum(row.n for row in self.rows if row.system in BEFORE_SCREENING and row.outcome not in BEFORE_SCREENING)


def tally(connection: Connection, batch: Row[Any], of: OfRecords | None = None) -> Tallied:
    """Return the counts of a batch's items, by outcome and reason.

    `batch`: the batch's row in the ledger. `of`: a condition on each item's number in the review's first batch. None:
    all items count.
    """
    item = outcomes(batch.id).subquery("each")
    alike = (item.c.reason, item.c.system, item.c.outcome, item.c.human, item.c.by_human)
    flagged = (func.count().filter(item.c[name]).label(name) for name in ("marked", "unverified"))
    counts = select(*alike, func.count().label("n"), *flagged)
    statement = counts.group_by(*alike).order_by(func.count().desc(), *alike)
    if of is not None:
        statement = statement.where(of(item.c.record))
    return Tallied(tuple(connection.execute(statement)))


def _by_reason(rows: Iterable[Any]) -> tuple[Tally, ...]:
    counted: Counter[str] = Counter()
    for row in rows:
        counted[row.reason or row.outcome] += row.n
    return tuple(Tally(name=name, n=n) for name, n in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))


# A note's line names the study of a report: "study: Smith 2020". Reports with the same name belong to one study.
STUDY = r"(?in)^\s*study\s*:\s*(\S.*?)\s*$"


def read_reports(connection: Connection, batch: Row[Any], of: OfRecords | None = None) -> ReportFlow | None:
    """Return the counts of the reports (full texts) of the records that passed a batch.

    Return None if people decided nothing on reports. An assessed report counts as retrieved. `of`: a condition on the
    records' numbers in the review's first batch; None: all records count.

    Raises `OperationFailed`, naming the records, if people decided on reports of records that did not pass.
    """
    view = standing_decisions.c
    decided = select(view.idx).where(view.batch_id == batch.id, view.stage != HumanStage.OWN.value).limit(1)
    if connection.execute(decided).first() is None:
        return None
    if others := unpassed(connection, batch.id):
        raise OperationFailed(unpassed_words(others))
    return _counted(connection.execute(_ways(batch, of)).all())


def read_report_rows(connection: Connection, batch: Row[Any]) -> tuple[ReportRow, ...]:
    """Return each report (full text) that people sought, in the order of the records, with the outcome so far."""
    item = _each_report(batch, None).subquery("each_report")
    # For a join, Postgres may read the view once for each record.
    of_item = (payloads.c.batch_id == batch.id, payloads.c.idx == item.c.idx)
    fields = [
        select(payloads.c.payload.op("->>")(name)).where(*of_item).scalar_subquery().label(name)
        for name in ("title", "doi", "pmid")
    ]
    statement = select(
        *(item.c.record.label("index"), item.c.way, item.c.reason, item.c.study, item.c.got_by, item.c.read_by),
        *(item.c.idx, item.c.item_id, *fields),
    ).order_by(item.c.record)
    noted = listed_remarks(batch.id, remarks.c.kind == RemarkKind.NOTE.value)
    notes = {row.idx: [note["text"] for note in row.remarks] for row in connection.execute(select(noted))}
    rows = []
    for row in connection.execute(statement):
        reviewers = tuple(sorted({decision["reviewer"] for decision in (*(row.got_by or ()), *(row.read_by or ()))}))
        full_text = full_text_of(notes.get(row.idx, ()))
        rows.append(ReportRow.model_validate(row._asdict() | {"reviewers": reviewers, "full_text": full_text}))
    return tuple(rows)


def _each_report(batch: Row[Any], of: OfRecords | None) -> Select[Any]:
    """Return the query for the reports (full texts) that people sought: a row for each report.

    A row has the report's outcome, the reason for this outcome, the study, and people's decisions. `of`: a condition on
    the records' numbers in the review's first batch; None: all records.
    """
    item = outcomes(batch.id).subquery("each")
    stages = (HumanStage.RETRIEVAL, HumanStage.FULL_TEXT)
    got, read = (standing_at(batch.id, item.c.idx, stage=stage) for stage in stages)
    way = case(
        (read.c.conflict, literal(ReportWay.CONFLICT.value)),
        (is_value(read.c.value, "include"), literal(ReportWay.INCLUDED.value)),
        (is_value(read.c.value, "exclude"), literal(ReportWay.EXCLUDED.value)),
        (is_value(read.c.value, UNSURE), literal(ReportWay.UNCERTAIN.value)),
        (is_value(got.c.value, "not retrieved"), literal(ReportWay.LOST.value)),
        (is_value(got.c.value, "retrieved"), literal(ReportWay.UNASSESSED.value)),
        else_=literal(ReportWay.AWAITED.value),
    )
    why = case((way == ReportWay.EXCLUDED.value, read.c.reason), (way == ReportWay.LOST.value, got.c.reason))
    study = case((way == ReportWay.INCLUDED.value, func.substring(read.c.note, STUDY)))
    statement = (
        select(
            *(item.c.idx, item.c.item_id, item.c.record, way.label("way"), why.label("reason"), study.label("study")),
            *(got.c.decisions.label("got_by"), read.c.decisions.label("read_by")),
        )
        .select_from(item)
        .outerjoin(got, true())
        .outerjoin(read, true())
        .where(item.c.outcome == Outcome.PASSED.value)
    )
    return statement if of is None else statement.where(of(item.c.record))


def _ways(batch: Row[Any], of: OfRecords | None) -> Select[Any]:
    """Return the query that counts reports by outcome and reason, and also counts the studies of included reports."""
    item = _each_report(batch, of).subquery("each_report")
    alone = literal("of record ") + cast(item.c.record, String)
    study = func.coalesce(literal("named ") + func.lower(item.c.study), alone)
    return (
        select(
            *(item.c.way, item.c.reason),
            func.count().label("n"),
            func.count(study.distinct()).filter(item.c.way == ReportWay.INCLUDED.value).label("studies"),
        )
        .group_by(item.c.way, item.c.reason)
        .order_by(func.count().desc(), item.c.reason)
    )


def _counted(rows: Sequence[Any]) -> ReportFlow:
    def n(way: ReportWay) -> int:
        return sum(row.n for row in rows if row.way == way)

    def by_reason(way: ReportWay) -> tuple[Tally, ...]:
        return tuple(Tally(name=row.reason or NO_REASON, n=row.n) for row in rows if row.way == way)

    return ReportFlow(
        sought=sum(row.n for row in rows),
        not_retrieved=by_reason(ReportWay.LOST),
        awaited=n(ReportWay.AWAITED),
        unassessed=n(ReportWay.UNASSESSED),
        excluded=by_reason(ReportWay.EXCLUDED),
        uncertain=n(ReportWay.UNCERTAIN),
        conflicts=n(ReportWay.CONFLICT),
        included=n(ReportWay.INCLUDED),
        studies=sum(row.studies for row in rows),
    )


def count_by_source(connection: Connection, batch: Row[Any]) -> tuple[FlowSource, ...]:
    """Return a batch's sources, each with its numbers of identified records, duplicates and screened records.

    Identified records that are neither duplicates nor screened were removed for other reasons. A duplicate that a human
    restored counts as screened.
    """
    sources = read_sources(batch)
    if not sources:
        return ()
    item, n = item_decisions.c, func.count()
    screened = item.decision.not_in([outcome.value for outcome in BEFORE_SCREENING])
    duplicates = n.filter(item.decision == Outcome.DUPLICATE.value).label("duplicates")
    statement = select(item.source, n.label("identified"), duplicates, n.filter(screened).label("screened"))
    rows = connection.execute(statement.where(item.batch_id == batch.id).group_by(item.source))
    counts = {row.source: row._asdict() for row in rows}
    nothing = {"identified": 0, "duplicates": 0, "screened": 0}
    return tuple(
        FlowSource.model_validate({"name": source.name, "kind": source.kind} | counts.get(place, nothing))
        for place, source in enumerate(sources)
    )


def read_flow(connection: Connection, rows: Sequence[Any], tallied: Sequence[Tallied]) -> Flow:
    """Return the flow of records through batches, stage by stage. Raise `OperationFailed` if numbers do not add up.

    `rows`: the batches' rows in the ledger. `tallied`: each batch's items by outcome and reason.

    If some records come from databases or registers, and others from other methods, the flow has two columns.
    """
    first = rows[0]
    screenings = [row for row in rows if kind_of(row.operation).decides()]
    last = screenings[-1] if screenings else None
    try:
        reports = None if last is None else read_reports(connection, last)
        sources = count_by_source(connection, first) if reports is not None or _told(read_sources(first)) else ()
        whole = _flow(connection, rows, tallied, sources, reports)
        more = {"columns": _columns(connection, rows, whole, last), "previous": _previous(connection, first)}
        return Flow.model_validate(dict(whole) | more) if any(more.values()) else whole
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise OperationFailed(f"the ledger's numbers of batch {first.id} do not add up: {message}") from error


def _previous(connection: Connection, batch: Row[Any]) -> PreviousVersion | None:
    """Return the totals of all earlier versions of a batch or review together.

    Return None if this is the first version, or the earlier version was purged.
    """
    if batch.updates is None:
        return None
    kept = (batches.c.id == batch.updates) & batches.c.purging_at.is_(None)
    earlier = connection.execute(select(batches).where(kept)).first()
    if earlier is None:  # purged
        return None
    rows = [earlier]
    if earlier.review_id is not None:
        of_review = select(batches).where(batches.c.review_id == earlier.review_id).order_by(batches.c.stage)
        rows = list(connection.execute(of_review))
    flow = read_flow(connection, rows, [tally(connection, row) for row in rows])
    before = flow.previous
    return PreviousVersion(
        batch_id=str(earlier.id),
        identified=flow.n_identified + (before.identified if before else 0),
        included=flow.included + (before.included if before else 0),
        studies=flow.studies + (before.studies if before else 0),
        complete=flow.complete and (before is None or before.complete),
    )


def _columns(connection: Connection, rows: Sequence[Any], whole: Flow, last: Row[Any] | None) -> tuple[Flow, ...]:
    """Return two flows: of the records from databases and registers, and of the records from other methods.

    Return () if the sources are all of one of these two groups.
    """
    other = [place for place, source in enumerate(whole.sources) if source.kind is SourceKind.OTHER]
    searched = [place for place in range(len(whole.sources)) if place not in other]
    if not other or not searched:
        return ()
    columns = []
    for places in (searched, other):
        of = _found_in(rows[0], places)
        sources = tuple(whole.sources[place] for place in places)
        reports = None if last is None or whole.reports is None else read_reports(connection, last, of)
        columns.append(_flow(connection, rows, [tally(connection, row, of) for row in rows], sources, reports, of))
    return tuple(columns)


def _flow(
    connection: Connection,
    rows: Sequence[Any],
    tallied: Sequence[Tallied],
    sources: tuple[FlowSource, ...],
    reports: ReportFlow | None,
    of: OfRecords | None = None,
) -> Flow:
    first = tallied[0]
    identified = tuple(Tally(name=source.name, n=source.identified) for source in sources)
    return Flow(
        identified=identified or (Tally(name=_origin(rows[0]), n=rows[0].n_items),),
        duplicates=first.n(outcome=Outcome.DUPLICATE),
        ineligible=first.tallies(outcome=Outcome.INELIGIBLE, system=Outcome.INELIGIBLE),
        removed_otherwise=first.n(outcome=Outcome.REMOVED),
        stages=tuple(_stage(connection, rows, number, counted, of) for number, counted in enumerate(tallied)),
        sources=sources,
        reports=reports,
    )


def _stage(
    connection: Connection, rows: Sequence[Any], number: int, counted: Tallied, of: OfRecords | None = None
) -> FlowStage:
    batch = rows[number]
    admitted, held_back = (0, 0) if number == 0 else _between(connection, rows[number - 1], batch, of)
    return FlowStage(
        operation=batch.operation,
        entered=(batch.n_items if of is None else counted.n()) - total(counted.removed_by),
        admitted=admitted,
        held_back=held_back,
        taken_back=counted.taken_back,
        passed=counted.n(outcome=Outcome.PASSED),
        passed_by_human=counted.n(outcome=Outcome.PASSED, by_human=True),
        passed_confirmed=counted.n(outcome=Outcome.PASSED, human=CONFIRMED),
        excluded_by_human=counted.n(outcome=Outcome.EXCLUDED, by_human=True),
        confirmed=counted.n(human=CONFIRMED),
        excluded=counted.tallies(outcome=Outcome.EXCLUDED, system=Outcome.EXCLUDED),
        excluded_confirmed=counted.n(outcome=Outcome.EXCLUDED, human=CONFIRMED),
        uncertain=counted.n(outcome=Outcome.UNCERTAIN),
        unverified=sum(row.unverified for row in counted.rows if row.outcome == Outcome.UNCERTAIN),
        failed=counted.tallies(outcome=Outcome.FAILED, system=Outcome.FAILED),
        conflicts=counted.n(outcome=Outcome.CONFLICT),
        cancelled=counted.n(outcome=Outcome.CANCELLED),
        open=counted.n(outcome=Outcome.OPEN),
        marked=sum(row.marked for row in counted.rows),
    )


def _between(connection: Connection, before: Row[Any], batch: Row[Any], of: OfRecords | None) -> tuple[int, int]:
    """Return two counts: records in `batch` that did not pass `before`, and records that passed but are not in `batch`.

    `before`: the previous stage's batch. `of`: a condition on the records' numbers in the review's first batch.
    """
    earlier = outcomes(before.id).subquery("earlier")
    item = outcomes(batch.id).subquery("each")
    later = select(item.c.record).where(item.c.outcome.not_in(BEFORE_SCREENING)).subquery("later")
    passed = func.coalesce(earlier.c.outcome, "") == Outcome.PASSED.value
    statement = select(
        func.count().filter(later.c.record.is_not(None), ~passed),
        func.count().filter(later.c.record.is_(None), passed),
    ).select_from(earlier.outerjoin(later, earlier.c.record == later.c.record, full=True))
    if of is not None:
        statement = statement.where(of(func.coalesce(earlier.c.record, later.c.record)))
    return connection.execute(statement).one()


def _found_in(first: Row[Any], places: Sequence[int]) -> OfRecords:
    """Return a function that makes the SQL condition that a record comes from one of these sources.

    `first`: the review's first batch. `places`: the sources' positions in this batch's list of sources, from 0.
    """
    there = select(payloads.c.idx).where(payloads.c.batch_id == first.id, payloads.c.source.in_(places))
    return lambda record: record.in_(there)


def _told(sources: Sequence[Source]) -> bool:
    """Return whether the ledger knows more about the sources than the name of a single file."""
    return len(sources) > 1 or any(
        source.name != source.file
        or source.kind is not SourceKind.DATABASE
        or source.searched is not None
        or source.query is not None
        for source in sources
    )


def _origin(batch: Row[Any]) -> str:
    sources = read_sources(batch)
    return sources[0].name if sources else batch.label or "records submitted by a program"
