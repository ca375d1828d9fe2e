"""The exclusion reason of an inclusion, in a statement."""

from sqlalchemy import ColumnElement, Text, case, cast

from tamis_schemas import InclusionStatus
from tamis_schemas.ledger import results


def exclusion_reason() -> ColumnElement[str | None]:
    """Return the reason of a row of `results` of an inclusion; NULL if it excludes nothing or gives none."""
    excludes = results.c.detail.op("->>")("status") == InclusionStatus.EXCLUDE.value
    return cast(case((excludes, results.c.detail.op("->>")("exclusion_reason")), else_=None), Text)
