"""The report of a batch or a review."""

from pathlib import Path

from tamis_producer.client.batch import Batch

from . import report
from .plans.reviews import Review
from .report import Figures, ReportForm


def write_report_file(subject: Batch | Review, path: Path | str, form: ReportForm | None = None) -> Figures:
    """Write the report of a batch, or of all stages of a review, to a file, and return its figures.

    An existing file is replaced when the new report is complete. `form`: `html`, `svg`, `png`, `md` or `json`. None:
    the file's suffix decides.

    Raises:
        InvalidRequest: an unknown suffix.
        UnknownBatch: no stage has begun.
        InputError: the file cannot be written.
        ConfigurationError: the extra `cli` is not installed, or `png` for a PNG.
        LedgerUnavailable: the ledger does not answer.
    """
    return report.write_report_file(subject.session.engine, subject.id, path, form)
