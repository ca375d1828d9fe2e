"""The records that the software excluded for a reason, by SQL: what is cheap to try comes before any JSON is read."""

import json
from collections.abc import Collection
from uuid import UUID

from sqlalchemy import Select, Text, and_, case, cast, false, func, or_, select

from tamis_producer.ledger.exclusion_reasons import exclusion_reason
from tamis_schemas import Inclusion, InclusionStatus, ItemStatus, Operation
from tamis_schemas.ledger import items, results
from tamis_schemas.ledger.verdicts import is_value

from ..decisions.final_outcome import NO_REASON, software_outcomes
from .work_text import probe_of

BEGINS = f'{{"status": "{InclusionStatus.EXCLUDE.value}"%'


def excluded_for(batch_id: UUID, operation: Operation, reasons: Collection[str]) -> list[Select[tuple[int]]]:
    """Return selects that together give the places at which the software gave one of the reasons.

    An inclusion's decisions are looked at on their own: joined with how the items stand, whole answers would go through
    the database's memory.
    """
    software = software_outcomes(batch_id, operation.operation).subquery("software")
    given = select(software.c.idx).where(software.c.reason.in_(reasons))
    probes = {probe_of(reason) for reason in reasons}
    if not isinstance(operation, Inclusion) or "" in probes or NO_REASON in reasons:
        return [given]
    return [_decided(batch_id, operation, reasons, probes), given.where(software.c.state != ItemStatus.DECIDED.value)]


def _decided(
    batch_id: UUID, operation: Inclusion, reasons: Collection[str], probes: Collection[str]
) -> Select[tuple[int]]:
    """Return the inclusion's exclusions for one of the reasons; the text of an answer is looked at before its JSON."""
    within, excluded = cast(results.c.detail, Text), is_value(results.c.value, operation.excludes)
    begins = within.like(BEGINS)  # as workers write it; whatever is written otherwise is parsed
    status = case((begins, True), else_=results.c.detail.op("->>")("status") == operation.excludes)
    written = [f'"exclusion_reason": {json.dumps(reason)}' for reason in reasons]  # no string can hold it unescaped
    found = case(
        (and_(*(func.strpos(within, probe) == 0 for probe in probes)), False),
        (~excluded, False),
        (or_(false(), *(func.strpos(within, one) > 0 for one in written)), status),
        else_=func.coalesce(exclusion_reason().in_(reasons), False),
    )
    decided = (items.c.batch_id == batch_id) & (items.c.idx == results.c.idx)
    return (
        select(results.c.idx)
        .join(items, decided & (items.c.state == ItemStatus.DECIDED.value))
        .where(results.c.batch_id == batch_id, found)
    )
