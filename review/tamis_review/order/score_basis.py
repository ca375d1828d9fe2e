"""The scale of a batch's scores, read from the ledger in one pass over its results."""

from uuid import UUID

from sqlalchemy import Connection, func, select

from tamis_schemas import ItemStatus
from tamis_schemas.ledger import items, results
from tamis_schemas.ledger.verdicts import is_value
from tamis_schemas.operations import OperationKind

from ..quality.inclusion_score import ScoreBasis


def read_score_basis(connection: Connection, batch_id: UUID, kind: type[OperationKind]) -> ScoreBasis:
    """Return the basis of the scores of a batch's decided records: those that a model included or excluded."""
    decided = is_value(results.c.value, kind.includes) | is_value(results.c.value, kind.excludes)
    statement = (
        select(func.count(), func.count(results.c.probability), func.count(results.c.relevance))
        .join(items, (items.c.batch_id == results.c.batch_id) & (items.c.idx == results.c.idx))
        .where(
            results.c.batch_id == batch_id,
            results.c.error_kind.is_(None),
            results.c.confidence.is_not(None),
            items.c.state == ItemStatus.DECIDED.value,
            decided,
        )
    )
    return ScoreBasis.counted(*connection.execute(statement).one())
