"""The import of people's decisions from other programs into a batch."""

from pathlib import Path

from sqlalchemy import func, select

from tamis_producer.client.batch import Batch
from tamis_producer.ledger import read_operation
from tamis_producer.ledger.overrides import one_at_a_time, standing
from tamis_schemas import Blinded, HumanStage, InputError, InvalidParameters
from tamis_schemas.operations import check_decides

from .decisions.decision_words import NamedWords, meaning_by_word, meanings_of
from .decisions.foreign_file import ForeignFile, TableColumns, read_foreign
from .decisions.import_decisions import Everything, Imported, Sorting, read_finder
from .decisions.record_overrides import RefusedDecision, Written, record
from .decisions.visibility import visible


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
    """Record people's decisions from a table or an export of Rayyan, Covidence or ASReview, all or none.

    Records are matched by id, DOI, PMID and title. A row that matches no record, or several, is listed in the result
    and skipped. Importing a file a second time adds nothing.

    Args:
        batch: the batch.
        path: the file.
        reviewer: the author of the decisions. If the file names authors, only this person's decisions are imported.
        stage: the subject of the decisions: the batch's own screening, the retrieval of reports, or full texts.
        settles: the decisions override other people's decisions.
        columns: the names of columns that Tamis should not guess.
        words: meanings of words in the file, in addition to the built-in meanings.
        everything: the decision on every record of the file: include, exclude or uncertain.
        dry_run: report the import without recording it.

    Raises:
        InputError: the file is unreadable, has no decisions, or names no author and `reviewer` is missing.
        InvalidParameters: a word without a meaning, or a `reviewer` whom the file does not name.
        InvalidRequest: the operation makes no decisions.
        Blinded: the client's user reads blind, but the file and the result may show others' decisions.
        LedgerUnavailable: the ledger does not answer.
    """
    with batch.session.writing() as connection:
        if visible(connection, batch).blind:
            raise Blinded("people read blind: only a person who may see all decisions can import a file")
        operation = read_operation(connection, batch.uuid)
        if stage is HumanStage.OWN:
            check_decides(batch.id, operation.operation, "An import of decisions")
        word = None if everything is None else Everything(everything).value
        file = read_foreign(path, columns, everything=word, max_bytes=batch.session.settings.max_file_bytes)
        reviewers = _reviewers(file, reviewer, path)
        rows = [(row, [word for word in row.said if (word.reviewer or reviewer) in reviewers]) for row in file.rows]
        counts = meanings_of((word.word for _, those in rows for word in those), stage, words or NamedWords())
        retrieval_words = (word.retrieval for _, those in rows for word in those if word.retrieval)
        retrieval = meanings_of(retrieval_words, HumanStage.RETRIEVAL, NamedWords())
        one_at_a_time(connection, batch.uuid)
        finder, meanings = read_finder(connection, batch.uuid), meaning_by_word(counts)
        sorting = Sorting(finder, operation, meanings, meaning_by_word(retrieval), reviewer or "", stage, settles)
        for row, those in rows:
            sorting.add(row, those)
        kept = [entry for entry in sorting.rows.values() if entry is not None]
        written = Written((), new=0, changed=0)
        if not dry_run:
            try:
                written = record(connection, batch.uuid, [decision for _, decision in kept])
            except RefusedDecision as refused:
                raise InputError(f"{kept[refused.number][0]}: {refused}", path=path) from refused
        human = standing(batch.uuid, stage=stage)
        conflicts = connection.execute(select(func.count()).select_from(human).where(human.c.conflict)).scalar_one()
    return Imported(
        kind=file.kind,
        stage=stage,
        columns=dict(file.columns),
        words=counts,
        retrieval_words=retrieval,
        reviewers=reviewers,
        rows=len(file.rows),
        undecided=sorting.undecided,
        decisions=len(kept),
        new=written.new,
        changed=written.changed,
        found_by=dict(sorting.found_by),
        unmatched=tuple(sorting.unmatched),
        ambiguous=tuple(sorting.ambiguous),
        conflicts=conflicts,
        recorded=not dry_run,
    )


def _reviewers(file: ForeignFile, reviewer: str | None, path: Path | str) -> tuple[str, ...]:
    """Return the reviewers whose decisions to import: everyone in the file, or only the requested reviewer.

    Raises `InputError` if there is no reviewer, and `InvalidParameters` if the file lacks the requested reviewer.
    """
    named = tuple(dict.fromkeys(word.reviewer for row in file.rows for word in row.said if word.reviewer is not None))
    if not named:
        if not (reviewer or "").strip():
            raise InputError("who decided? The file names no reviewer: say --reviewer NAME", path=path)
        return (str(reviewer),)
    if reviewer is None:
        return named
    if reviewer not in named:
        raise InvalidParameters(
            f"the file has decisions of {', '.join(named)}, but none of {reviewer!r}: name one of them, or omit "
            "--reviewer for all"
        )
    return (reviewer,)
