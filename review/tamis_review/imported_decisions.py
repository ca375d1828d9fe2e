"""Decisions about a batch that people made elsewhere."""

from pathlib import Path

from tamis_producer.client.batch import Batch
from tamis_schemas import HumanStage

from .decisions import import_decisions as imports
from .decisions.decision_words import NamedWords
from .decisions.foreign_file import TableColumns
from .decisions.import_decisions import Imported, ImportTerms


def import_decisions(
    batch: Batch,
    path: Path | str,
    *,
    reviewer: str | None = None,
    stage: HumanStage = HumanStage.OWN,
    settles: bool = False,
    columns: TableColumns | None = None,
    words: NamedWords | None = None,
    everything: str | None = None,
    dry_run: bool = False,
) -> Imported:
    """Record decisions made elsewhere: a table, or an export of Rayyan, Covidence or ASReview; all, or nothing.

    Records are found by id, DOI, PMID and title. A row without a record, or with several, is named and left out. The
    same file a second time adds nothing.

    Args:
        batch: the batch.
        path: the file.
        reviewer: whose decisions they are; of a file that names several people, the one whose are read.
        stage: what they are about: what the batch asks, whether reports could be had, full texts.
        settles: they count, whatever others say.
        columns: names of the table's columns, where they are not to be guessed.
        words: meanings of words in the file, besides the known ones.
        everything: include, exclude or uncertain: the decision on every record of the file.
        dry_run: say what would be recorded, and record nothing.

    Raises:
        InputError: the file cannot be read, or names neither decisions nor who made them.
        InvalidParameters: a word without a meaning.
        InvalidRequest: the operation decides nothing.
        LedgerUnavailable: the ledger does not answer.
    """
    terms = ImportTerms(
        reviewer,
        stage,
        settles,
        columns=columns or TableColumns(),
        words=words or NamedWords(),
        everything=everything,
        dry_run=dry_run,
    )
    with batch.session.writing() as connection:
        return imports.import_decisions(
            connection, batch.uuid, path, terms, max_bytes=batch.session.settings.max_file_bytes
        )
