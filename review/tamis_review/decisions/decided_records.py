"""The records of a batch with their decisions, for export to reference managers."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tamis_producer.submission.spool import Spool
from tamis_schemas import InclusionStatus, InvalidRequest, ItemResult, ItemStatus, Override
from tamis_schemas.answers.exclusion import DUPLICATE
from tamis_schemas.records.item import shown_text

from ..intake.decision import (
    CONFIDENCE,
    DECISION,
    DECISION_FIELDS,
    EXCLUSION_REASON,
    FROM_SOURCE,
    LABELS,
    NOTES,
    REASON,
)
from .final_outcome import BEFORE_SCREENING

CONFLICT = "conflict"  # people decided differently, not settled yet
NOT_DECIDED = "not decided"  # failed, cancelled or pending: never an exclusion


def decision_of(row: ItemResult) -> str:
    """Return the decision on a record: include, exclude, uncertain, duplicate, conflict or `not decided`.

    A human decision overrides the software's. But a duplicate that a person excludes stays a duplicate.
    If the operation neither includes nor excludes records, return the result's value as text.
    """
    if row.conflict:
        return CONFLICT
    if row.override is not None and row.outcome not in BEFORE_SCREENING:
        return _text(row.override.value)
    if row.exclusion is not None:
        return DUPLICATE if row.exclusion.rule == DUPLICATE else InclusionStatus.EXCLUDE.value
    if row.status != ItemStatus.DECIDED or row.result is None or row.result.error is not None:
        return NOT_DECIDED
    return _text(row.value)


def with_decision(row: ItemResult) -> dict[str, Any]:
    """Return a result's record, with the decision, its confidence and its reasons in the fields for export.

    The record also gets its source, if the batch has several, and people's labels and notes.
    """
    added: dict[str, Any] = {DECISION: decision_of(row), EXCLUSION_REASON: row.exclusion_reason}
    if row.conflict:
        added = {DECISION: CONFLICT, REASON: f"{row.decision_words} [{_system(row)}]"}
    elif row.override is not None and row.overridden:
        added = {DECISION: decision_of(row), REASON: f"decided by {_person(row.override)} [{_system(row)}]"}
    elif row.exclusion is not None:
        added |= {CONFIDENCE: row.exclusion.confidence, REASON: row.exclusion.reason}
    elif row.result is not None and row.result.error is not None:
        kind = "" if row.error_kind is None else f"{row.error_kind.value}: "
        added[REASON] = f"{kind}{row.result.error}"
    elif row.result is not None:
        added |= {CONFIDENCE: row.result.confidence, REASON: row.result.reasoning}
    remarks = []
    if row.decision is not None and row.decision.uncertain_reason is not None:
        remarks.append(f"[uncertain: {row.decision.uncertain_reason}]")
    if row.override is not None:
        remarks.append(f"[confirmed by {_person(row.override)}]")
    if row.cut_words is not None:
        remarks.append(f"[not sent in full: {row.cut_words}]")
    if remarks and not (row.conflict or row.overridden):
        added[REASON] = " ".join([added.get(REASON) or "", *remarks]).lstrip()
    own = {name: value for name, value in row.item.items() if name not in DECISION_FIELDS}
    beside = {FROM_SOURCE: row.source, LABELS: " | ".join(row.labels), NOTES: " | ".join(row.notes)}
    added |= {name: value or None for name, value in beside.items()}
    return own | {name: value for name, value in added.items() if value is not None}


@contextmanager
def decided_records(
    batch_id: str, rows: Iterable[ItemResult], only: Collection[str] | None = None
) -> Iterator[Spool[dict[str, Any]]]:
    """Yield a temporary file of the records with their decisions, in row order. The end of `with` deletes the file.

    `only`: write only records with these decisions, such as `include` (see `decision_of`). None: all records.

    Raises `InvalidRequest` if no record remains.
    """
    with Spool[dict[str, Any]]() as records:
        for row in rows:
            if only is None or decision_of(row) in only:
                record = with_decision(row)
                records.append(record, len(str(record)))
        if not len(records):
            of = "" if only is None else f" with the decision {' or '.join(only)}"
            raise InvalidRequest(f"batch {batch_id} has no record{of}")
        yield records


def _system(row: ItemResult) -> str:
    return f"the software: {decision_of(row.model_copy(update={'override': None, 'decisions': ()}))}"


def _person(human: Override) -> str:
    return f"{human.reviewer}: {human.note}" if human.note else human.reviewer


def _text(value: object) -> str:
    return "" if value is None else shown_text(value)
