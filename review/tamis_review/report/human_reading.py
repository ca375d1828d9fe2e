"""Human decisions about a batch's records, counted in the ledger."""

from typing import Any

from sqlalchemy import Connection, Row, func, select

from tamis_producer.ledger import read_audits, read_reviewers
from tamis_producer.ledger.overrides import standing
from tamis_schemas.operations import kind_of

from ..decisions.audit_verdict import verdict
from ..decisions.final_outcome import CHANGED, CONFIRMED, Outcome, outcomes
from ..decisions.human_agreement import read_agreement
from .figures import AuditFigures, HumanFigures

UNSETTLED = (Outcome.UNCERTAIN, Outcome.FAILED, Outcome.CANCELLED, Outcome.OPEN)


def read_human_figures(connection: Connection, batch: Row[Any]) -> HumanFigures:
    """The figures of a row of `batches`; all 0 where nobody has decided anything."""
    reviewers = read_reviewers(connection, batch.id)
    audits = read_audits(connection, batch.id)
    if not reviewers and not audits:
        return HumanFigures()
    each = outcomes(batch.id, batch.operation).subquery("each")
    changed = each.c.human == CHANGED
    unsure = each.c.outcome == Outcome.UNCERTAIN.value  # a human's `uncertain` decides nothing
    unsettled = each.c.system.in_([outcome.value for outcome in UNSETTLED])
    row = connection.execute(
        select(
            func.count().filter(each.c.human == CONFIRMED).label("confirmed"),
            func.count().filter(each.c.outcome == Outcome.CONFLICT.value).label("conflicts"),
            func.count().filter(changed, unsettled).label("settled"),
            func.count().filter(changed, ~unsettled, ~unsure).label("reversed"),
        )
    ).one()
    human = standing(batch.id)
    resolved = human.c.settles & (human.c.reviewers > 1)
    who = select(human.c.reviewer, func.count().label("n")).where(resolved).group_by(human.c.reviewer)
    by_name: dict[str, int] = {one.reviewer: one.n for one in connection.execute(who)}
    return HumanFigures(
        resolved=sum(by_name.values()),
        resolvers=tuple(sorted(by_name)),
        decided=row.confirmed + row.settled + row.reversed,
        confirmed=row.confirmed,
        reversed=row.reversed,
        settled=row.settled,
        conflicts=row.conflicts,
        reviewers=reviewers,
        agreement=read_agreement(connection, batch.id) if kind_of(batch.operation).decides() else None,
        audits=tuple(
            AuditFigures(
                id=audit.id,
                created_at=audit.created_at,
                verdict=verdict(audit),
                reviewers=tuple(sorted({item.reviewer for item in audit.items if item.reviewer is not None})),
            )
            for audit in audits
        ),
    )
