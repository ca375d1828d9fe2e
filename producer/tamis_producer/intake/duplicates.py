"""Duplicates: which records of a file are copies of another one, and which copy stays.

Two records are copies where one of these agrees, and nothing contradicts it:

| key | agrees | contradicted by |
|---|---|---|
| `doi`, `pmid` | the identifier | another title: congress supplements and books lend one DOI to all their parts |
| `title` | title, and year and first author where both have them | another DOI, PMID, NCT number or abstract |

A title alone is not enough: the shorter it is, the more has to agree beside it (`LETTERS`), or the abstracts do. A
notice (erratum, retraction, reply) is no copy of the paper it is about. A record that would fit two others which are
not copies of each other stays: to screen a copy costs one call, to lose a record may cost the review its result.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import Any

from rapidfuzz import fuzz

from tamis_schemas.exclusion import DUPLICATE, Exclusion

from .traits import AN_ABSTRACT, Traits, traits_of

# A title of so many letters is enough where so many of year and first author agree beside it; by the titles that
# different records of one year share ("Posttraumatic stress disorder" has 27).
LETTERS = {2: 20, 1: 35, 0: 60}
LETTERS_WITH_ABSTRACT = 10  # "Editorial" has 9
ALIKE_TITLES = 85.0  # of 100: typing errors, "Spinosaurusis not" for "Spinosaurus is not"
ALIKE_ABSTRACTS = 70.0  # of 100: copies reach 79 and more, different texts under one title 62 and less
TITLE_COMPARED = 500  # letters
# Where more different records share a title or a DOI, it says nothing; and pairs are counted in squares.
CROWD = 16
# Of 40 pairs with nothing but the title in common and checked by hand, 40 were copies: at least 0.91 (Wilson, 95 %).
TITLE_CONFIDENCE = 0.9

_NUMBERS = re.compile(r"\d+")


class Key(StrEnum):
    """By what a copy was found; strongest first."""

    DOI = "doi"
    PMID = "pmid"
    TITLE = "title"


@dataclass(frozen=True)
class Duplicate:
    """A record that is a copy of another; both are places in the file, from 0."""

    index: int
    of: int  # the copy that stays
    key: Key
    via: int | None = None  # the copy with which `key` agrees, where it is not the one that stays


_STRENGTH = {key: rank for rank, key in enumerate(Key)}


class _Likeness(StrEnum):
    SAME = "same"
    UNKNOWN = "unknown"
    DIFFERENT = "different"


def find_duplicates(records: Sequence[Mapping[str, Any]]) -> list[Duplicate]:
    """Every record that is a copy of another one, by place in the file; records are not changed.

    Of several copies the one stays that offers most for screening: with a title, the longest abstract, the most
    fields; at a tie the first in the file. Time grows linearly with the number of records.
    """
    traits = [traits_of(record) for record in records]
    groups = _Groups(traits)
    for key in Key:
        shared: dict[str, list[int]] = {}
        for index, own in enumerate(traits):
            if value := _value(own, key):
                shared.setdefault(value, []).append(index)
        for indices in shared.values():
            if len(indices) > 1:
                groups.unite(indices, key)
    found = [
        copy
        for members in groups.of_several()
        for copy in groups.copies(members, max(members, key=lambda at: (*_content(records[at]), -at)))
    ]
    return sorted(found, key=lambda duplicate: duplicate.index)


def exclusion_of(duplicate: Duplicate, records: Sequence[Mapping[str, Any]]) -> Exclusion:
    """What the ledger keeps of a copy: which record it copies, and what agreed."""
    like = duplicate.of if duplicate.via is None else duplicate.via
    own, other = traits_of(records[duplicate.index]), traits_of(records[like])
    way = "" if duplicate.via is None else f" by way of {_named(records[like], like)}"
    if duplicate.key is Key.TITLE:
        also = [*_agreeing(own, other), *(["abstract"] if _abstracts_alike(own, other) else [])]
        agreed = " and ".join(filter(None, [", ".join(["the same title", *also[:-1]]), *also[-1:]]))
    else:
        agreed = f"the same {duplicate.key.upper()}, {_value(own, duplicate.key)}"
    value = str(records[duplicate.index].get(duplicate.key.value, ""))
    return Exclusion(
        rule=DUPLICATE,
        reason=f"A copy of {_named(records[duplicate.of], duplicate.of)}{way}: {agreed}.",
        confidence=TITLE_CONFIDENCE if duplicate.key is Key.TITLE else 1.0,
        matched=value,
        field=duplicate.key.value,
        start=0,
        end=len(value),
        duplicate_of=duplicate.of,
    )


@dataclass
class _Group:
    """Records that are copies of each other."""

    members: list[int]
    identifiers: tuple[set[str], ...]  # as `_IDENTIFIERS` has them

    def contradicts(self, other: "_Group") -> bool:
        """True where both have an identifier of a kind, and share none: no chain of likenesses may join them."""
        return any(
            ours and theirs and ours.isdisjoint(theirs)
            for ours, theirs in zip(self.identifiers, other.identifiers, strict=True)
        )

    def take(self, other: "_Group") -> None:
        self.members += other.members
        for ours, theirs in zip(self.identifiers, other.identifiers, strict=True):
            ours |= theirs


class _Groups:
    """Which records are copies of each other, and which pairs said so."""

    def __init__(self, traits: Sequence[Traits]) -> None:
        self._traits = traits
        self._groups: dict[int, _Group] = {}  # every member of a group -> its group; a record on its own is not here
        self._links: dict[int, list[tuple[Key, int]]] = {}

    def of_several(self) -> Iterable[list[int]]:
        """The members of each group."""
        return [sorted(group.members) for index, group in self._groups.items() if index == group.members[0]]

    def unite(self, indices: Sequence[int], key: Key) -> None:
        """Join those of `indices`, which share `key`, that are the same record."""
        like = LIKE[key]
        first_with: dict[Traits, int] = {}
        for index in indices:
            own = self._traits[index]
            twin = first_with.setdefault(own, index)
            if twin != index and like(self._traits[twin], self._traits[twin]) is _Likeness.SAME:
                self._join(twin, index, key)
        differing = list(first_with.values())
        if len(differing) > CROWD:
            return
        pairs = list(combinations(differing, 2))
        likeness: dict[tuple[int, int], _Likeness] = {}
        for one, other in pairs:
            found = like(self._traits[one], self._traits[other])
            if self._together(one, other):
                found = _Likeness.SAME
            elif found is _Likeness.DIFFERENT and self._years_meet(one, other):
                found = like(replace(self._traits[one], year=None), self._traits[other])
            likeness[one, other] = likeness[other, one] = found
        for one, other in pairs:
            torn = any(
                {likeness[one, third], likeness[other, third]} == {_Likeness.SAME, _Likeness.DIFFERENT}
                for third in differing
                if third not in (one, other)
            )
            if likeness[one, other] is _Likeness.SAME and not torn:
                self._join(one, other, key)

    def _together(self, one: int, other: int) -> bool:
        return one in self._groups and self._groups[one] is self._groups.get(other)

    def _years_meet(self, one: int, other: int) -> bool:
        """True where copies of the two, by an identifier, bear one year: one of them was online first."""
        ours, theirs = ({self._traits[at].year for at in self._of(index).members} for index in (one, other))
        return any(ours & theirs)

    def copies(self, members: Sequence[int], stays: int) -> Iterable[Duplicate]:
        """Every member but the one that stays."""
        for index in members:
            if index == stays:
                continue
            if (direct := self._key_of(index, stays)) is not None:
                yield Duplicate(index, stays, direct)
            else:
                key, other = min(self._links[index], key=lambda link: (_STRENGTH[link[0]], link[1]))
                yield Duplicate(index, stays, key, via=other)

    def _key_of(self, index: int, stays: int) -> Key | None:
        own, other = self._traits[index], self._traits[stays]
        own = other if own == other else own  # whose abstract is folded already
        for key in Key:
            value = _value(own, key)
            if value and value == _value(other, key) and LIKE[key](own, other) is _Likeness.SAME:
                return key
        return None

    def _join(self, one: int, other: int, key: Key) -> None:
        small, large = sorted((self._of(one), self._of(other)), key=lambda group: len(group.members))
        if small is not large:
            if key is Key.TITLE and small.contradicts(large):
                return
            large.take(small)
            for index in large.members[-len(small.members) :]:
                self._groups[index] = large
            self._groups[large.members[0]] = large
        self._links.setdefault(one, []).append((key, other))
        self._links.setdefault(other, []).append((key, one))

    def _of(self, index: int) -> _Group:
        own = self._traits[index]
        return self._groups.get(index) or _Group(
            [index], tuple({v} if (v := get(own)) else set() for get in _IDENTIFIERS)
        )


# Of each a record has one.
_IDENTIFIERS: tuple[Callable[[Traits], str | None], ...] = (
    lambda own: own.doi,
    lambda own: own.pmid,
    lambda own: own.trial,
)


def _value(own: Traits, key: Key) -> str | None:
    match key:
        case Key.DOI:
            return own.doi
        case Key.PMID:
            return own.pmid
        case Key.TITLE:
            return own.title or None


def _like_by_identifier(one: Traits, other: Traits) -> _Likeness:
    if one.title == other.title or not one.title or not other.title:
        return _Likeness.SAME
    abstracts = _abstracts_alike(one, other)
    if one.notice != other.notice or abstracts is False:
        return _Likeness.DIFFERENT
    shorter, longer = sorted((one.title[:TITLE_COMPARED], other.title[:TITLE_COMPARED]), key=len)
    alike = (
        bool(abstracts)  # the title in two languages
        or (len(shorter) >= LETTERS[2] and longer.startswith(shorter))  # with and without its subtitle
        or (fuzz.ratio(shorter, longer) >= ALIKE_TITLES and _NUMBERS.findall(shorter) == _NUMBERS.findall(longer))
    )
    return _Likeness.SAME if alike else _Likeness.DIFFERENT


def _like_by_title(one: Traits, other: Traits) -> _Likeness:
    if any((ours := get(one)) and (theirs := get(other)) and ours != theirs for get in _IDENTIFIERS):
        return _Likeness.DIFFERENT
    if one.year and other.year and one.year != other.year:
        return _Likeness.DIFFERENT
    if one.author and other.author and one.author.isdisjoint(other.author):
        return _Likeness.DIFFERENT
    if (alike := _abstracts_alike(one, other)) is False:
        return _Likeness.DIFFERENT
    agreeing = _agreeing(one, other)
    enough = LETTERS_WITH_ABSTRACT if alike else LETTERS[len(agreeing)]
    return _Likeness.SAME if one.title_weight >= enough else _Likeness.UNKNOWN


LIKE: Mapping[Key, Callable[[Traits, Traits], _Likeness]] = {
    Key.DOI: _like_by_identifier,
    Key.PMID: _like_by_identifier,
    Key.TITLE: _like_by_title,
}


def _abstracts_alike(one: Traits, other: Traits) -> bool | None:
    """None where one of them has no abstract; a shorter one may be the beginning of the longer."""
    length = min(len(one.abstract), len(other.abstract))
    if not length:
        return None
    return fuzz.ratio(one.abstract[:length], other.abstract[:length], score_cutoff=ALIKE_ABSTRACTS) > 0


def _agreeing(one: Traits, other: Traits) -> list[str]:
    """What agrees beside the title."""
    found = ["year"] if one.year and one.year == other.year else []
    return [*found, "first author"] if one.author & other.author else found


def _content(record: Mapping[str, Any]) -> tuple[bool, int, int]:
    abstract = record.get("abstract")
    length = len(abstract) if isinstance(abstract, str) and len(abstract) >= AN_ABSTRACT else 0
    filled = sum(1 for name, value in record.items() if value and not name.startswith("_"))
    return bool(record.get("title")), length, filled


def _named(record: Mapping[str, Any], index: int) -> str:
    line = record.get("_line")
    place = f"line {line}" if line is not None else f"place {index + 1}"
    return f"record {str(record.get('id', index + 1))!r} ({place})"
