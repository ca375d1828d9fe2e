"""Audits in the ledger: the drawn samples, and people's decisions on their records.

The latest decision on a record is valid.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Exists, Row, exists, func, insert, select

from tamis_schemas import Audit, AuditItem, Stratum
from tamis_schemas.ledger import audit_decisions, audit_items, audits, items


def insert_audit(
    connection: Connection,
    audit_id: UUID,
    batch_id: UUID,
    *,
    seed: int,
    stratum: Stratum,
    population: int,
    places: Sequence[int],
) -> None:
    """Write an audit (a sample of records for people to judge). `places`: its items, in the order of the draw."""
    row = {"id": audit_id, "batch_id": batch_id, "seed": seed, "stratum": stratum.value, "population": population}
    connection.execute(insert(audits).values(row))
    rows = [{"audit_id": audit_id, "idx": idx, "drawn": drawn} for drawn, idx in enumerate(places)]
    connection.execute(insert(audit_items), rows)


def read_audits(connection: Connection, batch_id: UUID) -> list[Audit]:
    """Return all audits of a batch, oldest first."""
    rows = connection.execute(select(audits).where(audits.c.batch_id == batch_id).order_by(audits.c.created_at))
    return [_audit(connection, row) for row in rows.all()]


def read_audit(connection: Connection, audit_id: UUID) -> Audit:
    """Return the audit with this id, which must exist."""
    return _audit(connection, connection.execute(select(audits).where(audits.c.id == audit_id)).one())


def find_reading_audit(connection: Connection, batch_id: UUID) -> UUID | None:
    """Return the id of the audit that people work on; None if the batch has no audit.

    People work on the latest audit with unjudged records or, if every record is judged, on the latest audit.
    """
    open_first = exists().where(audit_items.c.audit_id == audits.c.id, ~_judged()).desc()
    statement = select(audits.c.id).where(audits.c.batch_id == batch_id)
    return connection.execute(statement.order_by(open_first, audits.c.created_at.desc()).limit(1)).scalar()


def read_unjudged(connection: Connection, batch_id: UUID) -> list[int]:
    """Return the places of the unjudged records of the audit that people work on, in the order of the draw."""
    audit_id = find_reading_audit(connection, batch_id)
    statement = select(audit_items.c.idx).where(audit_items.c.audit_id == audit_id, ~_judged())
    return list(connection.execute(statement.order_by(audit_items.c.drawn)).scalars())


def _judged() -> Exists:
    """Return the SQL condition that a person has judged a record of a sample."""
    here = (audit_decisions.c.audit_id == audit_items.c.audit_id) & (audit_decisions.c.idx == audit_items.c.idx)
    return exists().where(here)


def _audit(connection: Connection, row: Row[Any]) -> Audit:
    last = (
        select(func.max(audit_decisions.c.id))
        .where(audit_decisions.c.audit_id == row.id)
        .group_by(audit_decisions.c.idx)
    )
    latest = select(audit_decisions).where(audit_decisions.c.id.in_(last)).subquery("latest")
    statement = (
        select(
            *(audit_items.c.idx.label("index"), items.c.item_id, latest.c.include, latest.c.note, latest.c.reviewer),
            latest.c.created_at.label("decided_at"),
        )
        .join(items, (items.c.batch_id == row.batch_id) & (items.c.idx == audit_items.c.idx))
        .outerjoin(latest, latest.c.idx == audit_items.c.idx)
        .where(audit_items.c.audit_id == row.id)
        .order_by(audit_items.c.drawn)
    )
    sample = tuple(AuditItem.model_validate(item._asdict()) for item in connection.execute(statement))
    return Audit.model_validate(row._asdict() | {"id": str(row.id), "batch_id": str(row.batch_id), "items": sample})
