"""Audits: a random sample of the excluded records of a batch, judged by people."""

from collections.abc import Sequence
from uuid import UUID, uuid4

from tamis_producer import ledger
from tamis_producer.client.batch import Batch
from tamis_producer.client.session import Session
from tamis_producer.ledger.overrides import one_at_a_time
from tamis_schemas import Audit, Stratum
from tamis_schemas.records.random_order import check_draw, sample

from .decisions.audits import AuditDecision, Recorded, include_missed_records, read_population, write_decisions
from .decisions.visibility import visible


def draw_audit(batch: Batch, n: int, *, seed: int, stratum: Stratum = Stratum.ALL) -> Audit:
    """Draw a simple random sample of `n` excluded records, without replacement, for a human to judge.

    The sample comes from the exclusions without a human decision. Duplicates are never drawn. If fewer than `n`
    records qualify, all of them are drawn. The same seed draws the same sample from the same records. If the same audit
    exists already, it is returned unchanged.

    `stratum`: which exclusions are audited: those of the initial filter, of the model, or of both.

    Raises:
        InvalidParameters: `n` below 1, or an invalid seed.
        InvalidRequest: the batch does not decide about records, is not completed, or has no exclusion to audit.
        Blinded: a decision is still hidden from the reviewer who uses the client.
        LedgerUnavailable: the ledger does not answer.
    """
    check_draw(n, seed)
    with batch.session.writing() as connection:
        one_at_a_time(connection, batch.uuid)
        visible(connection, batch).check_whole()
        population = read_population(connection, batch.uuid, stratum)
        places = sample(population, n, seed=seed)
        for earlier in ledger.read_audits(connection, batch.uuid):
            same = (earlier.seed, earlier.stratum, earlier.population) == (seed, stratum, len(population))
            if same and [item.index for item in earlier.items] == places:
                return earlier
        audit_id, of = uuid4(), len(population)
        ledger.insert_audit(connection, audit_id, batch.uuid, seed=seed, stratum=stratum, population=of, places=places)
        return ledger.read_audit(connection, audit_id)


def list_audits(batch: Batch) -> list[Audit]:
    """Return the audits of the batch, oldest first.

    Raises `LedgerUnavailable`, and `Blinded` if decisions outside of audits are hidden from the client's user.
    """
    with batch.session.snapshot() as connection:
        visible(connection, batch).check_audits()
        return ledger.read_audits(connection, batch.uuid)


def audit(client: Session, audit_id: str) -> Audit:
    """Return the audit whose id is, or begins with, `audit_id`.

    Raises `UnknownBatch` if there is no such audit, and `Blinded` if decisions outside of audits are hidden from the
    client's user. Also raises `LedgerUnavailable`.
    """
    with client.snapshot() as connection:
        drawn = ledger.read_audit(connection, ledger.find_audit(connection, audit_id))
        visible(connection, Batch(client, UUID(drawn.batch_id))).check_audits()
        return drawn


def record_audit(
    client: Session,
    audit_id: str,
    decisions: Sequence[AuditDecision],
    *,
    correct: bool = False,
    include_missed: bool = False,
) -> Recorded:
    """Record a human's decisions on records of a sample, all or none. Repeated decisions add nothing.

    Args:
        client: the client.
        audit_id: the audit's id, or its unique beginning.
        decisions: the decisions.
        correct: allow decisions that contradict earlier decisions. Both stay in the ledger.
        include_missed: also include each missed record of the sample by an override, with the same reviewer and note. A
            record with a human decision gets no override.

    Raises:
        RefusedDecision: a record outside the sample, no reviewer, two decisions on a record, or a changed decision
            without `correct`.
        UnknownBatch: there is no such audit.
        Blinded: people read blind, and a decision names another reviewer than the client's user. Also if decisions
            outside of audits are hidden from this user.
        LedgerUnavailable: the ledger does not answer.
    """
    judged = audit(client, audit_id)
    audit_uuid = UUID(judged.id)
    with client.writing() as connection:
        seen = visible(connection, Batch(client, UUID(judged.batch_id)))
        for decision in decisions:
            seen.check_name(decision.reviewer)
        new = write_decisions(connection, audit_uuid, decisions, correct=correct)
        judged = ledger.read_audit(connection, audit_uuid)
        return Recorded(judged, new, include_missed_records(connection, judged) if include_missed else ())
