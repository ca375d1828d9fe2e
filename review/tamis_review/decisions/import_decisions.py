"""Decisions made elsewhere: each row of a file put to its record, and all of them recorded, or none.

A record is found by what the row says of it: id, DOI, PMID, title, in this order. A copy of another record is found as
the one that stays.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import Connection, Integer, cast, func, select

from tamis_producer.files.decode import MAX_FILE_BYTES
from tamis_producer.ledger import read_operation
from tamis_producer.ledger.overrides import one_at_a_time, standing
from tamis_schemas import HumanStage, InputError, InvalidParameters, InvalidRequest, Operation
from tamis_schemas.ledger import exclusions, items, payloads
from tamis_schemas.values.frozen import Frozen

from ..intake.traits import TITLE_READ, Traits, fold, traits_of
from .decision_words import Meaning, NamedWords, WordCount, meaning_by_word, meanings_of
from .foreign_file import ForeignFile, ForeignRow, ForeignWord, TableColumns, read_foreign, reviewers_of
from .record_overrides import HumanDecision, RefusedDecision
from .record_overrides import record as record_decisions

By: TypeAlias = Literal["id", "DOI", "PMID", "title"]
# A database's remark that its reader takes away; a program that keeps it takes its brackets.
_REMARK = "references"
LIKE = 0.85  # of the letters of two titles that are one, as programs shorten and mend them


@dataclass(frozen=True)
class KnownRecord:
    """A record of the batch, with its `title`, `doi` and `pmid`."""

    index: int
    item_id: str
    fields: Mapping[str, Any]
    copy_of: int | None = None  # the place of the record that stays


@dataclass(frozen=True)
class Found:
    """The places of the records that a row may mean; one, where it is found."""

    places: tuple[int, ...]
    by: By | None = None  # None: there is none
    why: str | None = None  # why there is none, where there is more to say


class RecordFinder:
    """The records of a batch by each of their traits."""

    def __init__(self, records: Iterable[KnownRecord]) -> None:
        every = list(records)
        copies = {record.index: record.copy_of for record in every if record.copy_of is not None}
        self._of_id: defaultdict[str, list[tuple[tuple[str, ...], int]]] = defaultdict(list)  # titles and place
        self._by: dict[By, defaultdict[str, set[int]]] = {by: defaultdict(set) for by in ("DOI", "PMID", "title")}
        for record in every:
            stays, traits = _stays(record.index, copies), traits_of(record.fields)
            titles = _titles(record.fields, traits)
            self._of_id[record.item_id].append((titles, stays))
            for by, key in _keys(traits, titles):
                self._by[by][key].add(stays)

    def find(self, row: Mapping[str, str]) -> Found:
        """The record of a row with `id`, `doi`, `pmid` and `title`, as far as it has them.

        An id under which the batch has another title is no proof: programs number their records from 1 alike.
        """
        traits = traits_of(row)
        titles, same_id = _titles(row, traits), self._of_id.get(row.get("id", ""), ())
        if places := {place for known, place in same_id if _like(titles, known)}:
            return Found(tuple(sorted(places)), "id")
        for by, key in _keys(traits, titles):
            if key in self._by[by]:
                return Found(tuple(sorted(self._by[by][key])), by)
        return Found((), why=f"the record with the id {row['id']!r} has another title" if same_id else None)


def read_finder(connection: Connection, batch_id: UUID) -> RecordFinder:
    """The records of a batch in the ledger."""
    named = {name: payloads.c.payload.op("->>")(name).label(name) for name in ("title", "doi", "pmid")}
    statement = (
        select(
            *(items.c.idx, items.c.item_id, *named.values()),
            cast(exclusions.c.exclusion.op("->>")("duplicate_of"), Integer).label("copy_of"),
        )
        .join(payloads, (payloads.c.batch_id == items.c.batch_id) & (payloads.c.idx == items.c.idx))
        .outerjoin(exclusions, (exclusions.c.batch_id == items.c.batch_id) & (exclusions.c.idx == items.c.idx))
        .where(items.c.batch_id == batch_id)
    )
    return RecordFinder(
        KnownRecord(row.idx, row.item_id, {name: getattr(row, name) for name in named}, row.copy_of)
        for row in connection.execute(statement)
    )


def _titles(fields: Mapping[str, Any], traits: Traits) -> tuple[str, ...]:
    """The ways of writing a title: as its paper has it, with what databases add, without signs beyond ASCII.

    Programs that clean titles keep the database's remarks ("[References]", "DP 2017") without their marks, and lose
    the letters that they do not know ("mnires disease").
    """
    raw = str(fields.get("title") or "")[:TITLE_READ]
    ways = (traits.title, fold(raw), fold(raw.encode("ascii", "ignore").decode()))
    return tuple(dict.fromkeys(way for each in ways for way in (each, each.removesuffix(_REMARK)) if way))


def _keys(traits: Traits, titles: Iterable[str]) -> list[tuple[By, str]]:
    keys: list[tuple[By, str | None]] = [("DOI", traits.doi), ("PMID", traits.pmid)]
    return [(by, key) for by, key in (*keys, *(("title", title) for title in titles)) if key]


def _stays(index: int, copies: Mapping[int, int]) -> int:
    seen = {index}
    while (index := copies.get(index, index)) not in seen:
        seen.add(index)
    return index


def _like(one: Sequence[str], other: Sequence[str]) -> bool:
    """True where two titles are of one paper, or nobody can tell: one of them is missing."""
    if not one or not other or not set(one).isdisjoint(other):
        return True
    mine, theirs = one[0], other[0]
    if mine.startswith(theirs) or theirs.startswith(mine):
        return True
    return SequenceMatcher(None, mine, theirs, autojunk=False).ratio() >= LIKE


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
        written = record_decisions(connection, batch_id, decisions)
    except RefusedDecision as refused:
        raise InputError(f"{sorting.place_of(refused.number)}: {refused}", path=path) from refused
    return written.new, written.changed


def _astray(row: ForeignRow, why: str) -> Astray:
    return Astray(place=row.place, id=row.record.get("id"), title=row.record.get("title"), why=why)
