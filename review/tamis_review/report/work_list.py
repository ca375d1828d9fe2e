"""The work list of a batch: the records for a person to read, filtered, sorted and in pages, with counts.

A record has the same data as its row in the report. Decisions that the caller must not see yet are omitted.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine

from tamis_producer.ledger import ledger_errors, read_results
from tamis_producer.ledger.audits import find_reading_audit, read_audit
from tamis_producer.ledger.stop_samples import read_open_sample
from tamis_schemas import Audit, Criterion, HumanStage, Inclusion, ItemResult, Operation, RemarkKind, ScreeningMode
from tamis_schemas.answers.override import AuditItem
from tamis_schemas.operations import panel_of
from tamis_schemas.values.frozen import Frozen

from ..decisions.audits import verdict
from ..decisions.conflicts import read_differing
from ..decisions.visibility import Visibility, read_visibility
from ..order.candidates import checked_operation
from ..order.next_records import NextQuery, keep_order
from ..order.order_refits import OrderRefits
from ..order.order_store import count_items, read_order
from ..quality.panel_record import read_disputed
from . import work_filter
from .table import blind_row, record_row, table_facts
from .work_filter import Said, WorkOrder, WorkQuery, WorkShow


class MyDecision(Frozen):
    """The caller's decision about a record."""

    value: Any  # a value of the operation, such as `include`
    reason: str | None
    note: str | None
    settles: bool = False  # overrides other people's decisions
    at: datetime


class WorkRecord(Frozen):
    """A record of a work list, as the caller may see it."""

    number: int  # from 1
    index: int  # place in the batch, from 0
    hidden: bool  # decisions stay hidden until the caller has decided
    mine: MyDecision | None
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    row: dict[str, Any]  # the row in the table of decisions


def _work_record(
    operation: str, result: ItemResult, me: str, *, hidden: bool, judged: Mapping[int, MyDecision] | None
) -> WorkRecord:
    """Return a record as the person `me` may see it. A hidden record has only its text and this person's own remarks.

    `judged`: record number -> this person's decision in the audit that the list shows. None: the list shows no audit.
    """
    own = next((entry for entry in result.decisions if entry.reviewer == me and entry.stage is HumanStage.OWN), None)
    mine = own and MyDecision(value=own.value, reason=own.reason, note=own.note, settles=own.settles, at=own.created_at)
    remarks = [remark for remark in result.remarks if not hidden or remark.reviewer == me]
    return WorkRecord(
        number=result.index + 1,
        index=result.index,
        hidden=hidden,
        mine=mine if judged is None else judged.get(result.index),
        labels=tuple(remark.text for remark in remarks if remark.kind is RemarkKind.LABEL),
        notes=tuple(f"{remark.reviewer}: {remark.text}" for remark in remarks if remark.kind is RemarkKind.NOTE),
        row=blind_row(result) if hidden else record_row(operation, result),
    )


class WorkAudit(Frozen):
    """The audit whose records a work list shows."""

    id: str
    seed: int
    sample: int  # records drawn
    judged: int
    words: str | None  # a sentence with the upper bound of missed records; None: some records are not judged yet


def _of_audit(audit: Audit) -> WorkAudit:
    words = None if any(item.include is None for item in audit.items) else verdict(audit).sentence
    return WorkAudit(id=audit.id, seed=audit.seed, sample=audit.sample, judged=audit.decided, words=words)


def _judged(drawn: Iterable[AuditItem], me: str, operation: Operation) -> dict[int, MyDecision]:
    """Return the decisions of the person `me` on an audit's sample: record number -> decision."""
    values = {True: operation.includes, False: operation.excludes}
    return {
        item.index: MyDecision(value=values[item.include], reason=None, note=item.note, at=item.decided_at)
        for item in drawn
        if item.include is not None and item.decided_at is not None and item.reviewer == me
    }


COUNTED = 20_000  # records in a batch; larger batches may search only until a page is full
AT_ONCE = 4_000  # records that a search of a larger batch reads before it reads all


class WorkCounts(Frozen):
    """The numbers of records in a work list, for all pages together."""

    records: int  # records of the batch, or of the audit's sample
    todo: int  # records that wait for the caller
    mine: int  # records that the caller has decided
    conflicts: int  # unsettled conflicts between people
    found: int | None  # records that pass the filters; None: a search of over 20,000 records stopped at a full page


class WorkReason(Frozen):
    """A criterion by which a record can be excluded."""

    label: str
    text: str  # the reason that an exclusion by this criterion has


class WorkList(Frozen):
    """A page of the work list, with everything needed to show it."""

    mode: ScreeningMode
    me: str
    operation: str
    values: dict[str, Any]  # the operation's values for include, exclude and uncertain
    reasons: tuple[WorkReason, ...]
    marked: dict[str, list[str]]  # words of the including and of the excluding criteria
    criteria: dict[str, Any]  # criteria by label
    names: dict[str, str]  # names of the outcomes
    audit: WorkAudit | None = None  # the listed sample's audit, in the mode `model_audited`; None: no audit is drawn
    counts: WorkCounts
    items: tuple[WorkRecord, ...]
    next: str | None  # `after` of the next page; None on the last page


def read_work(engine: Engine, batch_id: UUID, me: str, query: WorkQuery, refits: OrderRefits) -> WorkList:
    """Return a page of the work list of the person `me`.

    Raises:
        InvalidParameters: the cursor is invalid.
        InvalidRequest: the operation does not include or exclude records.
        Blinded: the list would reveal hidden decisions of an earlier stage.
        ConfigurationError: the reading order needs the extra `order`, which is not installed.
        LedgerUnavailable: the ledger does not answer.
    """
    after = None if query.after is None else work_filter.place_of(query.after)
    if query.order is WorkOrder.NEXT and after is None:
        with ledger_errors(), engine.connect() as connection:
            blind = read_visibility(connection, batch_id, me).blind
        if not blind:
            keep_order(engine, batch_id, NextQuery(), refits)
    with ledger_errors(), engine.connect() as connection:
        return _read(connection.execution_options(isolation_level="REPEATABLE READ"), batch_id, me, query, after)


def _read(connection: Connection, batch_id: UUID, me: str, query: WorkQuery, after: int | None) -> WorkList:
    operation, seen = checked_operation(connection, batch_id), read_visibility(connection, batch_id, me)
    mode, hidden = seen.mode, seen.hidden
    labelled = operation.criteria.labelled() if isinstance(operation, Inclusion) else []
    count, decisions = count_items(connection, batch_id), work_filter.read_said(connection, batch_id)
    audited = mode is ScreeningMode.MODEL_AUDITED
    audit_id = find_reading_audit(connection, batch_id) if audited else None
    audit = None if audit_id is None else read_audit(connection, audit_id)
    drawn = () if audit is None else audit.items
    judged = _judged(drawn, me, operation) if audited else None
    conflicts = ({at for at, row in decisions.items() if row.conflict} | read_differing(connection, batch_id)) - hidden
    kept_out = work_filter.read_kept_out(connection, batch_id)
    if judged is None:
        every = set(range(count))
        todo = every - kept_out - {place for place, decision in decisions.items() if not decision.waits(mode, me)}
        mine = {place for place, decision in decisions.items() if me in decision.reviewers}
    else:
        every, mine = {item.index for item in drawn}, {*judged}
        todo = {item.index for item in drawn if item.include is None}
        conflicts &= every
    shown = {WorkShow.TODO: todo, WorkShow.MINE: mine, WorkShow.CONFLICTS: conflicts, WorkShow.ALL: every}
    places = shown[query.show]
    reasons = _reasons(labelled, query.reason)
    matching = work_filter.read_matching(connection, batch_id, operation, query, reasons, decisions)
    if matching is not None:
        places = places & matching - hidden
    if audited:
        order = [item.index for item in drawn]
    else:
        order = _order(connection, batch_id, operation, query.order, seen, decisions, conflicts, count)
    listed, following, matches = _page(connection, batch_id, query, order, places, after)
    facts = table_facts(labelled, [operation.operation])
    results = {result.index: result for result in read_results(connection, batch_id, None, len(listed), sorted(listed))}
    counts = WorkCounts(records=len(every), todo=len(todo), mine=len(mine), conflicts=len(conflicts), found=matches)
    return WorkList(
        mode=mode,
        me=me,
        operation=operation.operation,
        values={"include": operation.includes, "exclude": operation.excludes, "uncertain": operation.unsure},
        reasons=tuple(WorkReason(label=criterion.label, text=criterion.reason) for criterion in labelled),
        marked=_marked(operation),
        criteria=facts["criteria"],
        names=facts["names"],
        audit=None if audit is None else _of_audit(audit),
        counts=counts,
        items=tuple(
            _work_record(operation.operation, results[place], me, hidden=place in hidden, judged=judged)
            for place in listed
            if place in results
        ),
        next=None if following is None else work_filter.cursor(following),
    )


def _order(
    connection: Connection,
    batch_id: UUID,
    operation: Operation,
    order: WorkOrder,
    seen: Visibility,
    decisions: dict[int, Said],
    conflicts: set[int],
    count: int,
) -> list[int]:
    """Return all record numbers of the batch in the requested order. Records that the order does not have come last.

    A person who reads blind gets the order of numbers in place of the stored reading order, because the stored order
    depends on hidden decisions.
    """
    match order:
        case WorkOrder.NUMBER:
            return list(range(count))
        case WorkOrder.NEXT:
            kept = None if seen.blind else read_order(connection, batch_id)
            places = range(count) if kept is None else kept.places
            sample, ruled = read_open_sample(connection, batch_id), work_filter.read_ruled(connection, batch_id)
            pairs = seen.mode is ScreeningMode.PAIR
            return work_filter.ranked(work_filter.reading_first(sample, decisions, places, ruled, pairs=pairs), count)
        case WorkOrder.DISAGREEMENT:
            models = read_disputed(connection, batch_id) if panel_of(operation) is not None else ()
            of_models = [place for place in models if place not in seen.hidden]
            return work_filter.ranked([*sorted(conflicts), *of_models], count)


def _page(
    connection: Connection, batch_id: UUID, query: WorkQuery, order: list[int], matching: set[int], after: int | None
) -> tuple[list[int], int | None, int | None]:
    """Return three values: a page's record numbers, the last of these numbers, and the number of all matches.

    The second value is None if no further page follows. The third value is None if a search in more than `COUNTED`
    records stopped because the page was full.
    """
    if query.words and len(order) > COUNTED:
        wanted, _ = work_filter.page(order, matching, after, AT_ONCE)
        within = work_filter.search(connection, batch_id, query.words, wanted)
        if len(within) > query.limit:
            return *work_filter.page(wanted, within, None, query.limit), None
    if query.words:
        matching = matching & work_filter.search(connection, batch_id, query.words, range(len(order)))
    return *work_filter.page(order, matching, after, query.limit), len(matching)


def _reasons(labelled: list[Criterion], reason: str | None) -> list[str]:
    """Return the texts under which the ledger may store an exclusion reason.

    `labelled`: the criteria. `reason`: a criterion's label, such as I1, or the reason's words.
    """
    if reason is None:
        return []
    text = next((criterion.reason for criterion in labelled if criterion.label == reason), reason)
    return [text, text.replace(" ", "_")]


def _marked(operation: Operation) -> dict[str, list[str]]:
    """Return the words to highlight: `include` or `exclude` -> words of these criteria.

    Words that occur in both including and excluding criteria are omitted.
    """
    if not isinstance(operation, Inclusion):
        return {"include": work_filter.marked_words([getattr(operation, "criteria", "")]), "exclude": []}
    criteria = operation.criteria
    include = work_filter.marked_words([*criteria.inclusion_criteria, *criteria.study_types])
    exclude = work_filter.marked_words([*criteria.exclusion_criteria, *criteria.custom_keywords])
    return {
        "include": [word for word in include if word not in exclude],
        "exclude": [word for word in exclude if word not in include],
    }
