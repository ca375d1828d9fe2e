"""The flow from the ledger: where every record of a batch or a review went, counted by SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, Row, func, select

from tamis_producer.ledger.sources import read_sources
from tamis_schemas import OperationFailed, Source, SourceKind
from tamis_schemas.batches.flow import Flow, FlowSource, FlowStage, PreviousVersion, ReportFlow, Tally
from tamis_schemas.ledger import batches, payloads
from tamis_schemas.operations import kind_of

from ..decisions.final_outcome import BEFORE_SCREENING, Outcome, outcomes
from .report_reading import read_reports
from .tallied import OfRecords, Tallied, tally


@dataclass(frozen=True)
class SourceCount:
    """The records of one source; what was neither a duplicate nor screened was removed otherwise."""

    place: int  # of the source among those of the batch, from 0
    identified: int
    duplicates: int  # of these, kept out as copies, whichever source the copy that stays is from
    screened: int


def count_by_source(connection: Connection, batch: Row[Any]) -> tuple[SourceCount, ...]:
    """The counts of a row of `batches` by the place of the source; a batch with one source, or none, has one place.

    They add up to the batch's: records that a human took back are no duplicates here either.
    """
    each = outcomes(batch.id, batch.operation).subquery("each")
    place = func.coalesce(payloads.c.source, 0)
    statement = (
        select(
            place.label("place"),
            func.count().label("identified"),
            func.count().filter(each.c.outcome == Outcome.DUPLICATE.value).label("duplicates"),
            func.count()
            .filter(each.c.outcome.not_in([outcome.value for outcome in BEFORE_SCREENING]))
            .label("screened"),
        )
        .join(each, each.c.idx == payloads.c.idx)
        .where(payloads.c.batch_id == batch.id)
        .group_by(place)
        .order_by(place)
    )
    return tuple(SourceCount(**row._asdict()) for row in connection.execute(statement))


def read_flow(connection: Connection, rows: Sequence[Any], tallied: Sequence[Tallied]) -> Flow:
    """The flow of these rows of `batches`, stage by stage. Raises `OperationFailed` where it does not add up.

    Where some records were found by other methods than a search of databases and registers, and some were not, it has
    a column of each.
    """
    first = rows[0]
    screenings = [row for row in rows if kind_of(row.operation).decides()]
    last = screenings[-1] if screenings else None
    try:
        reports = None if last is None else read_reports(connection, last)
        sources = read_sources(first)
        known = _sources(connection, first, sources) if reports is not None or _told(sources) else ()
        stages = [_stage(connection, rows, number, counted) for number, counted in enumerate(tallied)]
        identified = tuple(Tally(name=one.name, n=one.identified) for one in known) or (
            Tally(name=_origin(first, sources), n=first.n_items),
        )
        whole = _flow(tallied[0], identified, stages, known, reports)
        more = {"columns": _columns(connection, rows, whole, last), "previous": _previous(connection, first)}
        return Flow.model_validate(dict(whole) | more) if any(more.values()) else whole
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise OperationFailed(f"the ledger's numbers of batch {first.id} do not add up: {message}") from error


def _previous(connection: Connection, batch: Row[Any]) -> PreviousVersion | None:
    """Return what the version of the review found that a row of `batches` brings up to date, with those before it."""
    if batch.updates is None:
        return None
    earlier = connection.execute(select(batches).where(batches.c.id == batch.updates)).first()
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
    """Return the flow of databases and registers and that of other methods; none where all came by one of both ways."""
    other = [place for place, source in enumerate(whole.sources) if source.kind is SourceKind.OTHER]
    searched = [place for place in range(len(whole.sources)) if place not in other]
    if not other or not searched:
        return ()
    columns = []
    for places in (searched, other):
        of = _found_in(rows[0], places)
        tallied = [tally(connection, row, of) for row in rows]
        known = tuple(whole.sources[place] for place in places)
        stages = [_stage(connection, rows, number, counted, of) for number, counted in enumerate(tallied)]
        identified = tuple(Tally(name=one.name, n=one.identified) for one in known)
        reports = None if last is None or whole.reports is None else read_reports(connection, last, of)
        columns.append(_flow(tallied[0], identified, stages, known, reports))
    return tuple(columns)


def _flow(
    first: Tallied,
    identified: tuple[Tally, ...],
    stages: Sequence[FlowStage],
    sources: tuple[FlowSource, ...],
    reports: ReportFlow | None,
) -> Flow:
    return Flow(
        identified=identified,
        duplicates=first.n(Outcome.DUPLICATE),
        ineligible=first.tallies(Outcome.INELIGIBLE),
        removed_otherwise=first.n(Outcome.REMOVED),
        stages=tuple(stages),
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
        entered=(batch.n_items if of is None else counted.total) - counted.removed,
        admitted=admitted,
        held_back=held_back,
        taken_back=counted.taken_back,
        passed=counted.n(Outcome.PASSED),
        passed_by_human=counted.by_human(Outcome.PASSED),
        passed_confirmed=counted.with_human(Outcome.PASSED),
        excluded_by_human=counted.by_human(Outcome.EXCLUDED),
        confirmed=counted.confirmed,
        excluded=counted.tallies(Outcome.EXCLUDED),
        excluded_confirmed=counted.with_human(Outcome.EXCLUDED),
        uncertain=counted.n(Outcome.UNCERTAIN),
        unverified=counted.unverified,
        failed=counted.tallies(Outcome.FAILED),
        conflicts=counted.n(Outcome.CONFLICT),
        cancelled=counted.n(Outcome.CANCELLED),
        open=counted.n(Outcome.OPEN),
        marked=counted.marked,
    )


def _between(connection: Connection, before: Row[Any], batch: Row[Any], of: OfRecords | None) -> tuple[int, int]:
    """Records asked about in a stage without having passed the one before; records that passed and were not."""
    earlier = outcomes(before.id, before.operation).subquery("earlier")
    each = outcomes(batch.id, batch.operation).subquery("each")
    later = select(each.c.record).where(each.c.outcome.not_in(BEFORE_SCREENING)).subquery("later")
    passed = func.coalesce(earlier.c.outcome, "") == Outcome.PASSED.value
    statement = select(
        func.count().filter(later.c.record.is_not(None), ~passed).label("admitted"),
        func.count().filter(later.c.record.is_(None), passed).label("held_back"),
    ).select_from(earlier.outerjoin(later, earlier.c.record == later.c.record, full=True))
    if of is not None:
        statement = statement.where(of(func.coalesce(earlier.c.record, later.c.record)))
    row = connection.execute(statement).one()
    return row.admitted, row.held_back


def _found_in(first: Row[Any], places: Sequence[int]) -> OfRecords:
    """Return a condition on the records that came from these sources of a review's first batch."""
    there = select(payloads.c.idx).where(payloads.c.batch_id == first.id, payloads.c.source.in_(places))

    def found(record: ColumnElement[Any]) -> ColumnElement[bool]:
        return record.in_(there)

    return found


def _sources(connection: Connection, first: Row[Any], sources: Sequence[Source]) -> tuple[FlowSource, ...]:
    counts = {count.place: count for count in count_by_source(connection, first)} if sources else {}
    return tuple(
        FlowSource(
            name=source.name,
            kind=source.kind,
            identified=counts[place].identified if place in counts else 0,
            duplicates=counts[place].duplicates if place in counts else 0,
            screened=counts[place].screened if place in counts else 0,
        )
        for place, source in enumerate(sources)
    )


def _told(sources: Sequence[Source]) -> bool:
    """Return whether anybody said more of the sources than the name of one file."""
    return len(sources) > 1 or any(
        source.name != source.file
        or source.kind is not SourceKind.DATABASE
        or source.searched is not None
        or source.query is not None
        for source in sources
    )


def _origin(batch: Row[Any], sources: Sequence[Source]) -> str:
    return sources[0].name if sources else batch.label or "records submitted by a program"
