"""The reason of an inclusion's exclusion, in words that do not read as their opposite, whichever release decided."""

from uuid import UUID

from sqlalchemy import ColumnElement, Text, case, cast, func, literal, literal_column, select
from sqlalchemy.dialects.postgresql import JSONB

from tamis_schemas import InclusionStatus
from tamis_schemas.ledger import batches, results
from tamis_schemas.operations.criteria import reason_of


def stored_reason() -> ColumnElement[str | None]:
    """The reason of a row of `results` as its release stored it, whatever else it says."""
    detail = results.c.detail
    return func.coalesce(
        detail.op("->>")("exclusion_reason"), detail.op("->")("criteria").op("->>")(literal_column("0"))
    )


def exclusion_reason(batch_id: UUID) -> ColumnElement[str | None]:
    """The reason of a row of `results` of this batch, an inclusion; NULL where it excludes nothing or gives none.

    A decision without the field `uncertain_reason` is of a release that stored the bare text of the criterion: one of
    an inclusion criterion is worded here.
    """
    detail, stored = results.c.detail, stored_reason()
    # Of the whole batch: the database reads the criteria once, not for each row.
    included = (
        select(cast(batches.c.params.op("->")("criteria").op("->")("inclusion_criteria"), JSONB))
        .where(batches.c.id == batch_id)
        .scalar_subquery()
    )
    # Each look into the answer reads the whole of it: the one that hardly ever finds anything goes first.
    bare = case((included.op("?")(stored), detail.op("->")("uncertain_reason").is_(None)), else_=False)
    worded = case((bare, literal(reason_of("", excludes=False)).concat(stored)), else_=stored)
    return cast(case((detail.op("->>")("status") == InclusionStatus.EXCLUDE.value, worded), else_=None), Text)
