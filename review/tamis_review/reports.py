"""The report of a batch or a review."""

from pathlib import Path
from typing import TextIO

from tamis_producer.client.batch import Batch
from tamis_producer.ledger.sources import earlier_batches

from . import report
from .decisions.visibility import visible
from .plans.reviews import Review
from .report import Figures, ReportForm


def write_report_file(subject: Batch | Review, path: Path | str, form: ReportForm | None = None) -> Figures:
    """Write the report of a batch, or of all stages of a review, to a file, and return its figures.

    An existing file is replaced when the new report is complete. `form`: `html`, `svg`, `png`, `md` or `json`. If
    `form` is None, the file's suffix decides.

    Raises:
        InvalidRequest: an unknown suffix.
        UnknownBatch: no stage of the review has begun.
        InputError: the file cannot be written.
        ConfigurationError: the extra `cli` is not installed; or, for a PNG, the extra `png` is not installed.
        Blinded: a decision is hidden from the client's user.
        LedgerUnavailable: the ledger does not answer.
    """
    check_report(subject)
    return report.write_report_file(subject.session.engine, subject.id, path, form)


def write_report(subject: Batch | Review, form: ReportForm, stream: TextIO) -> Figures:
    """Write the report of a batch, or of all stages of a review, to a stream, and return its figures.

    Raises `UnknownBatch` if no stage has begun, `ConfigurationError` if an extra is not installed, `Blinded` if a
    decision is hidden from the client's user, and `LedgerUnavailable`.
    """
    check_report(subject)
    return report.write_report(subject.session.engine, subject.id, form, stream)


def check_report(subject: Batch | Review) -> None:
    """Raise `Blinded` if a decision that the report counts is hidden from the client's user.

    The report counts every stage of a review, and the earlier searches that a stage updates.
    """
    with subject.session.snapshot() as connection:
        for stage in [subject] if isinstance(subject, Batch) else subject.stages():
            for search in earlier_batches(connection, stage.uuid):
                visible(connection, Batch(subject.session, search)).check_whole()
