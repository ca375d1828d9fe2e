"""Records of a batch, found by what a file elsewhere says of them: id, DOI, PMID, title, in this order.

A copy of another record is found as the one that stays.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import Connection, Integer, cast, select

from tamis_schemas.ledger import exclusions, items, payloads

from ..intake.traits import TITLE_READ, Traits, fold, traits_of

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
