"""Decisions made elsewhere: each row of a file put to its record, and all of them recorded, or none."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from uuid import UUID

from sqlalchemy import Connection, func, select

from tamis_producer.files.decode import MAX_FILE_BYTES
from tamis_producer.ledger import read_operation
from tamis_producer.ledger.overrides import one_at_a_time, standing
from tamis_schemas import HumanStage, InputError, InvalidParameters, InvalidRequest, Operation
from tamis_schemas.values.frozen import Frozen

from .decision_words import Meaning, NamedWords, WordCount, meaning_by_word, meanings_of
from .foreign_columns import TableColumns
from .foreign_file import ForeignFile, read_foreign, reviewers_of
from .foreign_rows import ForeignRow, ForeignWord
from .record_finder import RecordFinder, read_finder
from .record_overrides import HumanDecision, RefusedDecision, record

CONTRADICTED = "another row is of the same record, and says something else"


class Everything(StrEnum):
    """The decision on every record of a file that lists the records of one decision."""

    INCLUDE = "include"
    EXCLUDE = "exclude"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True)
class ImportTerms:
    """How a file of decisions is to be read, and whose they are."""

    reviewer: str | None = None  # whose, where the file names nobody; of a file that names several, the one to be read
    stage: HumanStage = HumanStage.OWN
    settles: bool = False
    columns: TableColumns = field(default_factory=TableColumns)
    words: NamedWords = field(default_factory=NamedWords)
    everything: Everything | str | None = None  # every record of the file was decided so
    dry_run: bool = False  # say what would be recorded


class Astray(Frozen):
    """A row of the file that is not recorded, and why."""

    place: str  # in the file: line 12
    id: str | None = None
    title: str | None = None
    why: str


class Imported(Frozen):
    """What became of a file of decisions."""

    kind: str  # CSV, Rayyan, Covidence, ASReview
    stage: HumanStage
    columns: dict[str, str]  # what was read -> the file's own name of the column
    words: tuple[WordCount, ...]  # of the decisions, and what each was taken for
    retrieval_words: tuple[WordCount, ...] = ()
    reviewers: tuple[str, ...]
    rows: int
    undecided: int  # rows in which nobody decided
    decisions: int  # that belong to a record of the batch
    new: int  # of these, recorded now; the others stood there already
    changed: int  # of these, in the place of another decision of the same reviewer
    found_by: dict[str, int]  # rows by what their record was found by: id, DOI, PMID, title
    unmatched: tuple[Astray, ...]  # rows without a record in the batch
    ambiguous: tuple[Astray, ...]  # rows that may mean several records, or contradict another row on the same one
    conflicts: int  # records of the batch that are in conflict afterwards, in this stage
    recorded: bool  # False: it was a dry run


def import_decisions(
    connection: Connection, batch_id: UUID, path: Path | str, terms: ImportTerms, *, max_bytes: int = MAX_FILE_BYTES
) -> Imported:
    """Record the decisions of a file; what of it has no record, or might mean several, is named and left out.

    Runs in the caller's transaction. The same file a second time adds nothing.

    Raises:
        InputError: the file cannot be read, does not say where its decisions stand or who made them, or a decision
            cannot be kept.
        InvalidParameters: a word of it that nobody has said the meaning of, or a name that the file does not have.
        InvalidRequest: the operation of the batch decides nothing, and so no one else does in its stage.
    """
    operation = read_operation(connection, batch_id)
    if terms.stage is HumanStage.OWN and not operation.decides():
        raise InvalidRequest(
            f"batch {batch_id} is of {operation.operation}: only `tamis filter` and `tamis screen` decide about records"
        )
    everything = None if terms.everything is None else Everything(terms.everything).value
    file = read_foreign(path, terms.columns, everything=everything, max_bytes=max_bytes)
    reviewers = _reviewers(file, terms, path)
    said = [(row, [word for word in row.said if (word.reviewer or terms.reviewer) in reviewers]) for row in file.rows]
    words = meanings_of((word.word for _, those in said for word in those), terms.stage, terms.words)
    retrieval = meanings_of(
        (word.retrieval for _, those in said for word in those if word.retrieval), HumanStage.RETRIEVAL, NamedWords()
    )
    one_at_a_time(connection, batch_id)
    sorting = _Sorting(read_finder(connection, batch_id), operation, terms, words, retrieval)
    for row, those in said:
        sorting.add(row, those)
    decisions = sorting.decisions
    new, changed = (0, 0) if terms.dry_run else _recorded(connection, batch_id, decisions, sorting, path)
    human = standing(batch_id, stage=terms.stage)
    conflicts = connection.execute(select(func.count()).select_from(human).where(human.c.conflict)).scalar_one()
    return Imported(
        kind=file.kind,
        stage=terms.stage,
        columns=dict(file.columns),
        words=words,
        retrieval_words=retrieval,
        reviewers=reviewers,
        rows=len(file.rows),
        undecided=sorting.undecided,
        decisions=len(decisions),
        new=new,
        changed=changed,
        found_by=dict(sorting.found_by),
        unmatched=tuple(sorting.unmatched),
        ambiguous=tuple(sorting.ambiguous),
        conflicts=conflicts,
        recorded=not terms.dry_run,
    )


def _reviewers(file: ForeignFile, terms: ImportTerms, path: Path | str) -> tuple[str, ...]:
    """Whose decisions are read: those of everybody whom the file names, or of the one that is asked for."""
    named = reviewers_of(file.rows)
    if not named:
        if not (terms.reviewer or "").strip():
            raise InputError("who decided? the file names nobody: say --reviewer NAME", path=path)
        return (str(terms.reviewer),)
    if terms.reviewer is None:
        return named
    if terms.reviewer not in named:
        raise InvalidParameters(
            f"the file has decisions of {', '.join(named)}, and none of {terms.reviewer!r}: name one of them, or leave "
            "--reviewer out for all"
        )
    return (terms.reviewer,)


class _Sorting:
    """The rows of a file, sorted by what becomes of them."""

    def __init__(
        self,
        finder: RecordFinder,
        operation: Operation,
        terms: ImportTerms,
        words: Sequence[WordCount],
        retrieval: Sequence[WordCount],
    ) -> None:
        self._finder, self._operation, self._terms = finder, operation, terms
        self._meaning, self._retrieval = meaning_by_word(words), meaning_by_word(retrieval)
        self._rows: dict[tuple[int, HumanStage, str], tuple[str, HumanDecision] | None] = {}  # None: contradicted
        self.found_by: Counter[str] = Counter()
        self.unmatched: list[Astray] = []
        self.ambiguous: list[Astray] = []
        self.undecided = 0

    @property
    def decisions(self) -> list[HumanDecision]:
        """What is to be recorded, in the order of the file."""
        return [one[1] for one in self._rows.values() if one is not None]

    def place_of(self, number: int) -> str:
        """Return where in the file a decision stands, by its number among `decisions`."""
        return [one[0] for one in self._rows.values() if one is not None][number]

    def add(self, row: ForeignRow, words: Sequence[ForeignWord]) -> None:
        """Sort one row."""
        meanings = [
            (word, meaning) for word in words for meaning in self._meanings(word) if meaning is not Meaning.NOTHING
        ]
        if not meanings:
            self.undecided += 1
            return
        found = self._finder.find(row.record)
        if found.by is None:
            self.unmatched.append(_astray(row, found.why or "the batch has no such record"))
            return
        if len(found.places) > 1:
            listed = ", ".join(str(place) for place in found.places[:5])
            self.ambiguous.append(_astray(row, f"{len(found.places)} records have its {found.by}: {listed}"))
            return
        self.found_by[found.by] += 1
        for word, meaning in meanings:
            self._decide(row, found.places[0], word, meaning)

    def _meanings(self, word: ForeignWord) -> list[Meaning]:
        apart = [] if word.retrieval is None else [self._retrieval[word.retrieval.strip()]]
        return [*apart, self._meaning[word.word.strip()]]

    def _decide(self, row: ForeignRow, index: int, word: ForeignWord, meaning: Meaning) -> None:
        reached = meaning in (Meaning.RETRIEVED, Meaning.NOT_RETRIEVED)
        stage = HumanStage.RETRIEVAL if reached else self._terms.stage
        decision = HumanDecision(
            index,
            self._value(meaning, stage),
            word.reviewer or self._terms.reviewer or "",
            word.note,
            stage=stage,
            reason=None if meaning is Meaning.RETRIEVED else word.reason,
            settles=self._terms.settles,
            unsure=meaning is Meaning.UNCERTAIN,
        )
        voice = (index, stage, decision.reviewer)
        before = self._rows.setdefault(voice, (row.place, decision))
        if before is not None and (before[1].value, before[1].unsure) == (decision.value, decision.unsure):
            return
        self.ambiguous.append(_astray(row, CONTRADICTED))
        if before is not None:
            self.ambiguous.append(Astray(place=before[0], why=CONTRADICTED))
        self._rows[voice] = None

    def _value(self, meaning: Meaning, stage: HumanStage) -> object:
        if stage is not HumanStage.OWN:
            return meaning.value
        return self._operation.includes if meaning is Meaning.INCLUDE else self._operation.excludes


def _recorded(
    connection: Connection, batch_id: UUID, decisions: Sequence[HumanDecision], sorting: _Sorting, path: Path | str
) -> tuple[int, int]:
    """How many decisions are new, and how many of these take the place of another one."""
    try:
        written = record(connection, batch_id, decisions)
    except RefusedDecision as refused:
        raise InputError(f"{sorting.place_of(refused.number)}: {refused}", path=path) from refused
    return written.new, written.changed


def _astray(row: ForeignRow, why: str) -> Astray:
    return Astray(place=row.place, id=row.record.get("id"), title=row.record.get("title"), why=why)
