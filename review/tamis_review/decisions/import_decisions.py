"""The import of decisions from other programs: the match of each row of a file with its record.

A row is matched by its id, then its DOI, its PMID and its title. If the match is a duplicate, the original gets the
decision.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import Connection, Integer, cast, select

from tamis_schemas import HumanStage, Operation
from tamis_schemas.ledger import exclusions, items, payloads
from tamis_schemas.records.record_number import record_words
from tamis_schemas.values.frozen import Frozen

from ..intake.traits import TITLE_READ, Traits, fold, traits_of
from .decision_words import Meaning, WordCount
from .foreign_file import ForeignRow, ForeignWord
from .record_overrides import HumanDecision

By: TypeAlias = Literal["id", "DOI", "PMID", "title"]
# A remark that databases append to titles, as "[References]". Tamis removes it; some programs remove only the brackets.
_REMARK = "references"
LIKE = 0.85  # share of letters that two forms of a title have in common, after programs shorten and correct them


@dataclass(frozen=True)
class KnownRecord:
    """A record of the batch, with its `title`, `doi` and `pmid`."""

    index: int
    item_id: str
    fields: Mapping[str, Any]
    copy_of: int | None = None  # index of the original


@dataclass(frozen=True)
class RecordMatch:
    """The batch indexes of the records that match a row of the file. A unique match has a single index."""

    places: tuple[int, ...]
    by: By | None = None  # None: no match
    why: str | None = None  # why no record matches, if that is known


class RecordFinder:
    """The records of a batch, found by id, DOI, PMID or title."""

    def __init__(self, records: Iterable[KnownRecord]) -> None:
        every = list(records)
        copies = {record.index: record.copy_of for record in every if record.copy_of is not None}
        self._of_id: defaultdict[str, list[tuple[tuple[str, ...], int]]] = defaultdict(list)  # titles and record index
        self._by: dict[By, defaultdict[str, set[int]]] = {by: defaultdict(set) for by in ("DOI", "PMID", "title")}
        for record in every:
            stays, traits = _stays(record.index, copies), traits_of(record.fields)
            titles = _titles(record.fields, traits)
            self._of_id[record.item_id].append((titles, stays))
            for by, key in _keys(traits, titles):
                self._by[by][key].add(stays)

    def find(self, row: Mapping[str, str]) -> RecordMatch:
        """Return the match of a row by its `id`, `doi`, `pmid` or `title`. Values may be missing.

        A record with the same id but another title does not match, because many programs number records from 1.
        """
        traits = traits_of(row)
        titles, same_id = _titles(row, traits), self._of_id.get(row.get("id", ""), ())
        if places := {place for known_titles, place in same_id if _like(titles, known_titles)}:
            return RecordMatch(tuple(sorted(places)), "id")
        for by, key in _keys(traits, titles):
            if key in self._by[by]:
                return RecordMatch(tuple(sorted(self._by[by][key])), by)
        return RecordMatch((), why=f"the record with the id {row['id']!r} has another title" if same_id else None)


def read_finder(connection: Connection, batch_id: UUID) -> RecordFinder:
    """Return an object that finds the batch's records by id, DOI, PMID or title."""
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
    """Return the spellings of a title: as published, with a database's remark, and without non-ASCII characters."""
    # Programs that clean titles keep databases' remarks ("[References]", "DP 2017") without the brackets, and drop
    # letters that they do not support ("mnires disease").
    raw = str(fields.get("title") or "")[:TITLE_READ]
    ways = (traits.title, fold(raw), fold(raw.encode("ascii", "ignore").decode()))
    return tuple(dict.fromkeys(way for spelling in ways for way in (spelling, spelling.removesuffix(_REMARK)) if way))


def _keys(traits: Traits, titles: Iterable[str]) -> list[tuple[By, str]]:
    keys: list[tuple[By, str | None]] = [("DOI", traits.doi), ("PMID", traits.pmid)]
    return [(by, key) for by, key in (*keys, *(("title", title) for title in titles)) if key]


def _stays(index: int, copies: Mapping[int, int]) -> int:
    seen = {index}
    while (index := copies.get(index, index)) not in seen:
        seen.add(index)
    return index


def _like(titles: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether two titles may belong to the same paper: they are similar, or a title is missing.

    Each argument has the spellings of one title.
    """
    if not titles or not others or not set(titles).isdisjoint(others):
        return True
    mine, theirs = titles[0], others[0]
    if mine.startswith(theirs) or theirs.startswith(mine):
        return True
    return SequenceMatcher(None, mine, theirs, autojunk=False).ratio() >= LIKE


CONTRADICTED = "another row has a different decision on the same record"


class Everything(StrEnum):
    """The decision on every record of a file, for a file that lists only records with the same decision."""

    INCLUDE = "include"
    EXCLUDE = "exclude"
    UNCERTAIN = "uncertain"


class Astray(Frozen):
    """A row of the file whose decision is not recorded, with the reason."""

    place: str  # in the file: line 12
    id: str | None = None
    title: str | None = None
    why: str


class Imported(Frozen):
    """The result of importing a file of decisions."""

    kind: str  # CSV, Rayyan, Covidence, ASReview
    stage: HumanStage
    columns: dict[str, str]  # field -> the file's column name
    words: tuple[WordCount, ...]  # of the decisions, with their meanings
    retrieval_words: tuple[WordCount, ...] = ()
    reviewers: tuple[str, ...]
    rows: int
    undecided: int  # rows without a decision
    decisions: int  # decisions on records of the batch
    new: int  # of `decisions`: recorded now; the others already existed
    changed: int  # of `new`: replacing another decision of the same reviewer
    found_by: dict[str, int]  # rows by the trait that matched: id, DOI, PMID, title
    unmatched: tuple[Astray, ...]  # rows without a record in the batch
    ambiguous: tuple[Astray, ...]  # rows that match several records, or contradict another row on the same record
    conflicts: int  # conflicts in this stage after the import
    recorded: bool  # False: a dry run


@dataclass
class Sorting:
    """The rows of a file, sorted into decisions to record, unmatched rows, ambiguous rows and undecided rows."""

    finder: RecordFinder
    operation: Operation
    meanings: Mapping[str, Meaning]  # of the words of decisions
    retrieval: Mapping[str, Meaning]  # of the words on retrieval
    reviewer: str  # author of decisions without a name in the file
    stage: HumanStage
    settles: bool
    # (record index, stage, reviewer) -> (line in the file, decision). None: another row contradicts the decision.
    rows: dict[tuple[int, HumanStage, str], tuple[str, HumanDecision] | None] = field(default_factory=dict)
    found_by: Counter[str] = field(default_factory=Counter)
    unmatched: list[Astray] = field(default_factory=list)
    ambiguous: list[Astray] = field(default_factory=list)
    undecided: int = 0

    def add(self, row: ForeignRow, words: Sequence[ForeignWord]) -> None:
        """Add a row's decisions to `rows`, or the row to the unmatched, ambiguous or undecided rows.

        `words`: the row's decisions, in the file's own words.
        """
        meanings = [(word, meaning) for word in words for meaning in self._meanings(word)]
        if not meanings:
            self.undecided += 1
            return
        matched = self.finder.find(row.record)
        if matched.by is None:
            self.unmatched.append(_astray(row, matched.why or "the batch has no such record"))
            return
        if len(matched.places) > 1:
            listed = ", ".join(record_words(place) for place in matched.places[:5])
            self.ambiguous.append(_astray(row, f"{len(matched.places)} records have its {matched.by}: {listed}"))
            return
        self.found_by[matched.by] += 1
        for word, meaning in meanings:
            self._decide(row, matched.places[0], word, meaning)

    def _meanings(self, word: ForeignWord) -> list[Meaning]:
        apart = [] if word.retrieval is None else [self.retrieval[word.retrieval.strip()]]
        return [meaning for meaning in (*apart, self.meanings[word.word.strip()]) if meaning is not Meaning.NOTHING]

    def _decide(self, row: ForeignRow, index: int, word: ForeignWord, meaning: Meaning) -> None:
        stage = HumanStage.RETRIEVAL if meaning in (Meaning.RETRIEVED, Meaning.NOT_RETRIEVED) else self.stage
        value = self.operation.includes if meaning is Meaning.INCLUDE else self.operation.excludes
        decision = HumanDecision(
            index,
            value if stage is HumanStage.OWN else meaning.value,
            word.reviewer or self.reviewer,
            word.note,
            stage=stage,
            reason=None if meaning is Meaning.RETRIEVED else word.reason,
            settles=self.settles,
            unsure=meaning is Meaning.UNCERTAIN,
        )
        voice = (index, stage, decision.reviewer)
        before = self.rows.setdefault(voice, (row.place, decision))
        if before is not None and (before[1].value, before[1].unsure) == (decision.value, decision.unsure):
            return
        self.ambiguous.append(_astray(row, CONTRADICTED))
        if before is not None:
            self.ambiguous.append(Astray(place=before[0], why=CONTRADICTED))
        self.rows[voice] = None  # contradicted


def _astray(row: ForeignRow, why: str) -> Astray:
    return Astray(place=row.place, id=row.record.get("id"), title=row.record.get("title"), why=why)
