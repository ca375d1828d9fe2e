"""The exclusion reason of an item in SQL."""

from sqlalchemy import ColumnElement, Text, case, cast

from tamis_schemas import InclusionStatus
from tamis_schemas.ledger import results


def exclusion_reason() -> ColumnElement[str | None]:
    """Return the SQL expression for the exclusion reason in a row of `results`, for the operation `inclusion`.

    The expression is NULL if the result does not exclude the record, or gives no reason.
    """
    excludes = results.c.detail.op("->>")("status") == InclusionStatus.EXCLUDE.value
    return cast(case((excludes, results.c.detail.op("->>")("exclusion_reason")), else_=None), Text)
