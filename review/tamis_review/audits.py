"""Audits: a random sample of the excluded records of a batch, judged by people."""

from collections.abc import Sequence
from uuid import UUID

from tamis_producer import ledger
from tamis_producer.client.batch import Batch
from tamis_producer.client.session import Session
from tamis_schemas import Audit, Stratum

from .decisions import audits
from .decisions.audits import AuditDecision, Recorded


def draw_audit(batch: Batch, n: int, *, seed: int, stratum: Stratum = Stratum.ALL) -> Audit:
    """Draw a random sample of `n` excluded records for a human to judge; the same seed gives back the same audit.

    Raises as `decisions.audits.draw`, and `LedgerUnavailable`.
    """
    with batch.session.writing() as connection:
        return audits.draw(connection, batch.uuid, n, seed=seed, stratum=stratum)


def list_audits(batch: Batch) -> list[Audit]:
    """Return the audits of the batch, the first one first. Raises `LedgerUnavailable`."""
    with batch.session.reading() as connection:
        return ledger.read_audits(connection, batch.uuid)


def audit(client: Session, audit_id: str) -> Audit:
    """Return the audit of this id, or unique beginning. Raises `UnknownBatch`, `LedgerUnavailable`."""
    with client.reading() as connection:
        return ledger.read_audit(connection, ledger.find_audit(connection, audit_id))


def record_audit(
    client: Session,
    audit_id: str,
    decisions: Sequence[AuditDecision],
    *,
    correct: bool = False,
    include_missed: bool = False,
) -> Recorded:
    """Keep a human's decisions on an audit's records, all or nothing.

    Arguments and errors are those of `decisions.audits.record`; raises `UnknownBatch` and `LedgerUnavailable` too.
    """
    audit_uuid = UUID(audit(client, audit_id).id)
    with client.writing() as connection:
        return audits.record(connection, audit_uuid, decisions, correct=correct, include_missed=include_missed)
