"""Pairs of records that may be copies: a person decides on each pair, and may take the decision back."""

from tamis_producer.client.batch import Batch
from tamis_schemas.answers.override import CopyVerdict

from .decisions.copy_pairs import CopyPair, read_pairs, record_verdict
from .decisions.visibility import visible


def list_copies(batch: Batch) -> list[CopyPair]:
    """Return the pairs of records that may be copies, with people's verdicts.

    A pair comes from the deduplication, which was not sure, or from a person. Pairs show no screening decisions, so
    blind readers see all pairs. Only the first stage of a review has pairs.

    May raise `LedgerUnavailable`.
    """
    with batch.session.snapshot() as connection:
        visible(connection, batch)
        return list(read_pairs(connection, batch.uuid))


def decide_copies(batch: Batch, index: int, of: int, verdict: CopyVerdict | None, *, reviewer: str) -> CopyPair:
    """Record a person's verdict on two records, and return the pair. The last verdict on a pair counts.

    After the verdict `copies`, the record at `index` leaves the screening as a duplicate. The other record keeps its
    own decisions.

    Args:
        batch: the first batch of a review, or a batch outside of reviews.
        index: the copy's index in the batch, from 0.
        of: the index of the record that stays.
        verdict: copies, or two different reports. None takes the last verdict back, so that both records are screened.
        reviewer: the author of the verdict.

    Raises:
        InvalidParameters: an impossible pair, no verdict to take back, or no reviewer. Also if people decided on the
            copy, if it was removed before screening, or if the other record is itself a copy.
        Blinded: people read blind, and `reviewer` is not the client's user. Also if a refused verdict could
            show that a hidden record passed the screening.
        LedgerUnavailable: the ledger does not answer.
    """
    with batch.session.writing() as connection:
        seen = visible(connection, batch)
        seen.check_name(reviewer)
        if verdict == "copies":
            seen.check_copies()
        return record_verdict(connection, batch.uuid, index, of, verdict, reviewer)
