"""Pairs of records that may be copies: people call them copies, or two different reports, and can take it back."""

from tamis_producer.client.batch import Batch
from tamis_schemas.answers.override import CopyVerdict

from .decisions.copy_pairs import CopyPair, read_pairs, record_verdict
from .decisions.visibility import visible


def list_copies(batch: Batch) -> list[CopyPair]:
    """Return the pairs that may be copies, with people's verdicts: the deduplication's doubts, and pairs people named.

    A pair shows no decision on its records, so that nothing is hidden while people read blind. A later stage of a
    review has no pairs of its own: they are listed in the first stage.

    Raises `LedgerUnavailable`.
    """
    with batch.session.snapshot() as connection:
        visible(connection, batch)
        return list(read_pairs(connection, batch.uuid))


def decide_copies(batch: Batch, index: int, of: int, verdict: CopyVerdict | None, *, reviewer: str) -> CopyPair:
    """Record a person's verdict on two records, and return the pair. The last verdict on a pair counts.

    If the verdict is copies, the record at `index` leaves the screening as a duplicate, and the other record keeps its
    decisions.

    Args:
        batch: the first batch of a review, or a batch outside of reviews.
        index: the place of the copy, from 0.
        of: the place of the record that stays.
        verdict: copies, or two different reports. None takes the last verdict back, so that both records are screened.
        reviewer: the author of the verdict.

    Raises:
        InvalidParameters: an impossible pair, no verdict to take back, or no reviewer. Also if people decided on the
            copy, if it was removed before screening, or if the other record is itself a copy.
        Blinded: the batch is read blind, and `reviewer` is another person, or a refusal could show who passed.
        LedgerUnavailable: the ledger does not answer.
    """
    with batch.session.writing() as connection:
        seen = visible(connection, batch)
        seen.check_name(reviewer)
        if verdict == "copies":
            seen.check_copies()
        return record_verdict(connection, batch.uuid, index, of, verdict, reviewer)
