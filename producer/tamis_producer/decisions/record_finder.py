"""Records of a batch, found by what a file elsewhere says of them: id, DOI, PMID, title, in this order.

A copy of another record is found as the one that stays.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import Connection, Integer, cast, select

from tamis_schemas.ledger import exclusions, items, payloads

from ..intake.traits import Traits, traits_of

By: TypeAlias = Literal["id", "DOI", "PMID", "title"]
LIKE = 0.85  # of the letters of two titles that are one, as programs shorten and mend them
# Behind a title in exports of Ovid, in brackets that other programs take away.
_REMARK = "references"


@dataclass(frozen=True)
class KnownRecord:
    """A record of the batch."""

    index: int
    item_id: str
    traits: Traits
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
        self._of_id: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)  # title and place
        self._by: dict[By, defaultdict[str, set[int]]] = {by: defaultdict(set) for by in ("DOI", "PMID", "title")}
        for record in every:
            stays, title = _stays(record.index, copies), _bare(record.traits.title)
            self._of_id[record.item_id].append((title, stays))
            for by, key in _keys(record.traits):
                self._by[by][key].add(stays)

    def find(self, row: Mapping[str, str]) -> Found:
        """The record of a row with `id`, `doi`, `pmid` and `title`, as far as it has them.

        An id under which the batch has another title is no proof: programs number their records from 1 alike.
        """
        traits = traits_of(row)
        title, same_id = _bare(traits.title), self._of_id.get(row.get("id", ""), ())
        if places := {place for known, place in same_id if _like(title, known)}:
            return Found(tuple(sorted(places)), "id")
        for by, key in _keys(traits):
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
        KnownRecord(row.idx, row.item_id, traits_of({name: getattr(row, name) for name in named}), row.copy_of)
        for row in connection.execute(statement)
    )


def _keys(traits: Traits) -> list[tuple[By, str]]:
    keys: tuple[tuple[By, str | None], ...] = (
        ("DOI", traits.doi),
        ("PMID", traits.pmid),
        ("title", _bare(traits.title)),
    )
    return [(by, key) for by, key in keys if key]


def _stays(index: int, copies: Mapping[int, int]) -> int:
    seen = {index}
    while (index := copies.get(index, index)) not in seen:
        seen.add(index)
    return index


def _bare(title: str) -> str:
    return title.removesuffix(_REMARK)


def _like(one: str, other: str) -> bool:
    """True where two titles are of one paper, or nobody can tell: one of them is missing."""
    if not one or not other or one.startswith(other) or other.startswith(one):
        return True
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= LIKE
