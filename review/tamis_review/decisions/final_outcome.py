"""The outcome of each item of a batch, as an SQL expression that every count of a report groups by."""

from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Case, ColumnElement, FromClause, Select, Text, case, cast, func, literal, select, true
from sqlalchemy.dialects.postgresql import JSONB

from tamis_producer.ledger.exclusion_reasons import exclusion_reason
from tamis_producer.ledger.overrides import standing_at
from tamis_schemas import Inclusion, ItemStatus, Judge, UncertainReason
from tamis_schemas.answers.exclusion import DUPLICATE
from tamis_schemas.ledger import exclusions, items, payloads, results
from tamis_schemas.ledger.verdicts import is_value
from tamis_schemas.operations import OperationKind, kind_of, operation_name

INCLUSION, JUDGE = operation_name(Inclusion), operation_name(Judge)
NO_REASON = "no reason recorded"


class Outcome(StrEnum):
    """The outcome of a record."""

    DUPLICATE = "duplicate"  # these three: before any model
    INELIGIBLE = "ineligible"
    REMOVED = "removed"
    PASSED = "passed"
    EXCLUDED = "excluded"
    UNCERTAIN = "uncertain"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OPEN = "open"
    CONFLICT = "conflict"  # people decided differently, not settled yet


CHANGED, CONFIRMED = "changed", "confirmed"
BEFORE_SCREENING = (Outcome.DUPLICATE, Outcome.INELIGIBLE, Outcome.REMOVED)


def outcomes(batch_id: UUID, operation: str) -> Select[Any]:
    """Return the query for the outcomes of a batch's items, with a row for each item and these columns:

    | column | contents |
    |---|---|
    | `idx` | the place in the batch |
    | `record` | the place in the review's first batch |
    | `system` | the outcome before any human decision |
    | `outcome` | the final outcome |
    | `human` | people `changed` or `confirmed` the software's outcome, or are in `conflict`; NULL: no human decision |
    | `reason` | the software's rule, exclusion reason or kind of error; NULL if there is none |
    | `unverified` | whether the outcome is uncertain only because the model's exclusion had no verified quote |
    | `marked` | whether the item is a judgement that blocks a result |
    | `confidence` | the model's confidence |
    """
    state = items.c.state
    kind = kind_of(operation)
    human = standing_at(batch_id, items.c.idx)
    system, why = _by_software(batch_id, kind)
    final, changed = _by_human(kind, human, system)
    conflict = Outcome.CONFLICT.value
    marked = (state == ItemStatus.DECIDED.value) & (results.c.detail.op("->>")("blocked") == "true")
    unverified = (state == ItemStatus.DECIDED.value) & (
        results.c.detail.op("->>")("uncertain_reason") == UncertainReason.UNVERIFIED.value
    )
    return (
        select(
            items.c.idx,
            func.coalesce(payloads.c.origin, items.c.idx).label("record"),
            system.label("system"),
            case((human.c.id.is_(None), system), (human.c.conflict, conflict), else_=final).label("outcome"),
            case((human.c.id.is_(None), None), (human.c.conflict, conflict), (changed, CHANGED), else_=CONFIRMED).label(
                "human"
            ),
            why.label("reason"),
            (func.coalesce(marked, False) if operation == JUDGE else literal(False)).label("marked"),
            (func.coalesce(unverified, False) if operation == INCLUSION else literal(False)).label("unverified"),
            case((state == ItemStatus.DECIDED.value, results.c.confidence), else_=None).label("confidence"),
        )
        .select_from(items)
        .outerjoin(payloads, (payloads.c.batch_id == items.c.batch_id) & (payloads.c.idx == items.c.idx))
        .outerjoin(results, (results.c.batch_id == items.c.batch_id) & (results.c.idx == items.c.idx))
        .outerjoin(exclusions, (exclusions.c.batch_id == items.c.batch_id) & (exclusions.c.idx == items.c.idx))
        .outerjoin(human, true())
        .where(items.c.batch_id == batch_id)
    )


def software_outcomes(batch_id: UUID, operation: str) -> Select[Any]:
    """Return the query for the columns `idx`, `system` and `reason` of `outcomes`, and for `state` and `detail`.

    It reads no human decisions, so it is faster than `outcomes`.
    """
    system, why = _by_software(batch_id, kind_of(operation))
    return (
        select(items.c.idx, items.c.state, results.c.detail, system.label("system"), why.label("reason"))
        .outerjoin(results, (results.c.batch_id == items.c.batch_id) & (results.c.idx == items.c.idx))
        .outerjoin(exclusions, (exclusions.c.batch_id == items.c.batch_id) & (exclusions.c.idx == items.c.idx))
        .where(items.c.batch_id == batch_id)
    )


def _by_software(batch_id: UUID, kind: type[OperationKind]) -> tuple[Case[Any], ColumnElement[str | None]]:
    """Return two expressions for an item: its outcome before any human decision, and the reason for that outcome."""
    state, rule = items.c.state, exclusions.c.rule
    decision, reason = _decision(batch_id, kind)
    system = case(
        (state == ItemStatus.DECIDED.value, decision),
        (state == ItemStatus.FAILED.value, Outcome.FAILED.value),
        (state == ItemStatus.CANCELLED.value, Outcome.CANCELLED.value),
        (state != ItemStatus.EXCLUDED_BY_FILTER.value, Outcome.OPEN.value),
        (rule == DUPLICATE, Outcome.DUPLICATE.value),
        (rule.is_not(None), Outcome.INELIGIBLE.value),
        else_=Outcome.REMOVED.value,
    )
    why = case(
        (state == ItemStatus.DECIDED.value, reason),
        (state == ItemStatus.FAILED.value, func.coalesce(results.c.error_kind, literal("unknown"))),
        (state == ItemStatus.EXCLUDED_BY_FILTER.value, rule),
        else_=None,
    )
    return system, cast(why, Text)


def _by_human(
    kind: type[OperationKind], human: FromClause, system: Case[Any]
) -> tuple[ColumnElement[Any], ColumnElement[bool]]:
    """Return two expressions: the outcome after a human decision, and whether it differs from the software's."""
    if not kind.decides():
        same = (items.c.state == ItemStatus.DECIDED.value) & (
            cast(results.c.value, JSONB) == cast(human.c.value, JSONB)
        )
        return literal(Outcome.PASSED.value), ~func.coalesce(same, False)
    passes, excludes = (is_value(human.c.value, value) for value in (kind.includes, kind.excludes))
    # If a human confirms an exclusion before screening, it remains one before screening.
    final = case(
        (passes, Outcome.PASSED.value),
        (~excludes, Outcome.UNCERTAIN.value),
        (system.in_([outcome.value for outcome in BEFORE_SCREENING]), system),
        else_=Outcome.EXCLUDED.value,
    )
    return final, final != system


def by_human(operation: str, value: object, system: Outcome) -> Outcome:
    """Return a record's final outcome after a human decision, as in `outcomes`. `system`: the software's outcome."""
    kind = kind_of(operation)
    if not kind.decides() or kind.verdict(value):
        return Outcome.PASSED
    if kind.verdict(value) is None:
        return Outcome.UNCERTAIN
    return system if system in BEFORE_SCREENING else Outcome.EXCLUDED


def _decision(batch_id: UUID, kind: type[OperationKind]) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Return two expressions for a decided item: its outcome, and the reason if it is excluded."""
    if not kind.decides():
        return literal(Outcome.PASSED.value), literal(None, Text)
    includes, excludes = (is_value(results.c.value, value) for value in (kind.includes, kind.excludes))
    outcome = case((includes, Outcome.PASSED.value), (excludes, Outcome.EXCLUDED.value), else_=Outcome.UNCERTAIN.value)
    because = literal(kind.excluded_because or NO_REASON)
    reason = because if kind.excluded_because else func.coalesce(exclusion_reason(), because)
    return outcome, case((excludes, reason), else_=None)
