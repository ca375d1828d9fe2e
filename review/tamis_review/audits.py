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


def draw_audit(batch: Batch, n: int, *, seed: int, stratum: Stratum = Stratum.ALL) -> Audit:
    """Draw a simple random sample, without replacement, of `n` excluded records for a human to judge.

    All of them where there are fewer. The population is what the software excluded and no human has decided about: by
    the rules of the initial filter, by the model, or both. Copies of other records are not in it, for the copy that
    stays was screened. The same seed draws the same sample as long as the population is the same; an audit that is
    there already is given back as it is.

    Raises:
        InvalidParameters: `n` below 1, or a seed that is none.
        InvalidRequest: the batch does not decide about records, is not completed, or excluded none.
        LedgerUnavailable: the ledger does not answer.
    """
    check_draw(n, seed)
    with batch.session.writing() as connection:
        one_at_a_time(connection, batch.uuid)
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
    """Keep what a human says of records of a sample; all of it is written, or nothing.

    What is there already adds nothing. A decision that says the opposite of the one before is written with `correct`
    alone; both stay in the ledger. With `include_missed`, every record of the sample that should have been included is:
    by an override of the same reviewer and note, unless a human's decision stands on it already.

    Raises:
        RefusedDecision: a record that is not of the sample, no reviewer, two decisions on one record, or a changed one
            without `correct`.
        UnknownBatch: there is no such audit.
        LedgerUnavailable: the ledger does not answer.
    """
    audit_uuid = UUID(audit(client, audit_id).id)
    with client.writing() as connection:
        new = write_decisions(connection, audit_uuid, decisions, correct=correct)
        judged = ledger.read_audit(connection, audit_uuid)
        return Recorded(judged, new, include_missed_records(connection, judged) if include_missed else ())
