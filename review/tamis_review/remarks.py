"""Labels and notes that people put on the records of a batch, to find them again."""

from collections import Counter
from collections.abc import Collection, Sequence

from tamis_producer import ledger
from tamis_producer.client.batch import Batch
from tamis_schemas import RemarkKind

from .decisions import record_remarks
from .decisions.record_remarks import NewRemark


def remark(
    batch: Batch,
    indices: Collection[int],
    *,
    labels: Collection[str] = (),
    notes: Collection[str] = (),
    reviewer: str,
    remove: bool = False,
    alone: bool = False,
) -> int:
    """Put labels and notes on items, or take them off; return how many changed.

    `alone`: those of other reviewers do not count, as where people read blind.

    Raises:
        InvalidParameters: an item that is not there, no reviewer, or a text that is empty or too long. Nothing is
            written.
        LedgerUnavailable: the ledger does not answer.
    """
    new = [NewRemark(RemarkKind.LABEL, text, remove) for text in labels]
    new += [NewRemark(RemarkKind.NOTE, text, remove) for text in notes]
    with batch.session.writing() as connection:
        return record_remarks.remark(connection, batch.uuid, indices, new, reviewer=reviewer, alone=alone)


def count_labels(batch: Batch, *, reviewer: str = "", hidden: Collection[int] = ()) -> Counter[str]:
    """Return how many items bear each label; of `hidden` places those of `reviewer` alone.

    Raises `LedgerUnavailable`.
    """
    with batch.session.reading() as connection:
        return ledger.read_label_counts(connection, batch.uuid, me=reviewer, hidden=hidden)


def labelled_places(batch: Batch, label: str) -> Sequence[int]:
    """Return the places of the items that bear a label, for `Batch.results`. Raises `LedgerUnavailable`."""
    with batch.session.reading() as connection:
        return ledger.read_labelled(connection, batch.uuid, label)
