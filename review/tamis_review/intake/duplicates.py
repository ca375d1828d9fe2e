"""Duplicates: the copies among a file's records, the record that stays for each, and the doubtful pairs.

Two records are copies if any of these keys agrees and nothing contradicts it:

| key | agrees | contradicted by |
|---|---|---|
| `doi`, `pmid` | the identifier | another title: congress supplements and books lend one DOI to all their parts |
| `title` | title, and year and first author where both have them | another DOI, PMID, trial, abstract or journal |

A congress abstract is not a copy of a paper, unless it has the same text in the same journal and year. If volume and
first page agree, only identifiers contradict, and titles may have misprints. A title alone is not enough: the shorter
the title, the more other fields must agree (`LETTERS`). Equal abstracts also suffice. A notice (erratum, retraction,
reply) is not a copy of its paper.

If title and first author of a pair agree, but something contradicts a copy, the pair is a doubt. Both records stay, and
a human sees the pair. A record also stays if it matches two records that are not copies of each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from tamis_schemas.answers.exclusion import DUPLICATE, Exclusion
from tamis_schemas.records.source import Doubt

from .likeness import IDENTIFIERS, LIKE, MANY_PAPERS, Key, Likeness, PairVerdict, agreement, doubt, misprinted, value_of
from .traits import AN_ABSTRACT, Traits, traits_of

# The most records with one title or DOI to compare. More of them prove nothing, and their pairs grow quadratically.
CROWD = 16
AT_AN_END = 10  # equal letters at a title's beginning or end, if another letter may be lost
# Of 40 pairs with only the title in common, checked by hand, all were copies: a share of at least 0.91 (Wilson, 95 %).
TITLE_CONFIDENCE = 0.9

_SEVERAL = ("one of them matches several records that are not copies of each other",)
_BY_OTHERS = ("other identifiers on copies of them",)


@dataclass(frozen=True)
class Duplicate:
    """A record that is a copy of another record. `index`, `of` and `via` are record indexes in the file, from 0."""

    index: int
    of: int  # the record that stays
    key: Key
    via: int | None = None  # the third record that agrees in `key`, if `of` does not agree
    agreed: str = field(default="", compare=False)  # the agreement in words


@dataclass(frozen=True)
class Duplicates:
    """The copies and doubts among the records of a file."""

    copies: list[Duplicate] = field(default_factory=list)  # by `index`
    doubts: list[Doubt] = field(default_factory=list)  # by `index` and `of`; between records that stay


_STRENGTH = {key: rank for rank, key in enumerate(Key)}


def find_duplicates(records: Sequence[Mapping[str, Any]]) -> Duplicates:
    """Return the copies and the doubtful pairs among the records of a file.

    Among copies, a record with a title stays. If several have a title, the longest abstract decides, then the number of
    fields, then the order in the file. The time is linear in the number of records.
    """
    traits = [traits_of(record) for record in records]
    groups = _Groups(traits)
    for key in Key:
        for indices in _blocks(value_of(trait, key) for trait in traits).values():
            if len(indices) > 1:
                groups.unite(indices, key)
    for indices in (*_blocks_of_other_titles(traits), *_blocks_of_misprints(traits)):
        groups.unite(indices, Key.TITLE)
    best = [(*rank(record), -index) for index, record in enumerate(records)]
    copies = [
        replace(copy, agreed=agreement(traits[copy.index], traits[copy.of if copy.via is None else copy.via], copy.key))
        for members in groups.of_several()
        for copy in groups.copies(members, max(members, key=best.__getitem__))
    ]
    return Duplicates(
        sorted(copies, key=lambda copy: copy.index),
        sorted(_doubts(groups, copies, best, traits), key=lambda pair: (pair.index, pair.of)),
    )


def _blocks(values: Iterable[str | None]) -> dict[str, list[int]]:
    shared: dict[str, list[int]] = {}
    for index, value in enumerate(values):
        if value:
            shared.setdefault(value, []).append(index)
    return shared


def _blocks_of_other_titles(traits: Sequence[Traits]) -> Iterable[list[int]]:
    """Return a list of record indexes for each title that is also another record's alternative title.

    The list has the records with this title, then the records with this alternative title.
    """
    titles = _blocks(trait.title for trait in traits)
    others: dict[str, list[int]] = {}
    for index, trait in enumerate(traits):
        for title in sorted(trait.other_titles & titles.keys()):
            others.setdefault(title, []).append(index)
    return (titles[title] + indices for title, indices in others.items())


def _blocks_of_misprints(traits: Sequence[Traits]) -> Iterable[list[int]]:
    """Yield lists of record indexes. In each list, two different titles are probably misprints of one title.

    The records have the same year. They also share volume and first page, or the beginning or the end of the title.
    """
    blocks = [*_blocks(trait.place and f"{trait.year} {trait.place}" for trait in traits).values()]
    if any(trait.lossy for trait in traits):
        for part in (slice(AT_AN_END), slice(-AT_AN_END, None)):
            ends = _blocks(f"{trait.year} {trait.title[part]}" for trait in traits)
            blocks += [indices for indices in ends.values() if any(traits[index].lossy for index in indices)]
    for indices in blocks:
        distinct = {traits[index].title: traits[index] for index in indices}
        if 1 < len(distinct) <= CROWD and any(misprinted(*pair) for pair in combinations(distinct.values(), 2)):
            yield indices


def _doubts(
    groups: "_Groups", copies: Sequence[Duplicate], best: Sequence[tuple[bool, int, int, int]], traits: Sequence[Traits]
) -> Iterable[Doubt]:
    """Return one doubt for each doubtful pair of records that stay.

    A doubt about a copy becomes a doubt about the copy's original.

    `best`: the rank of each record; in a pair, the record of higher rank is `of`.
    """
    kept = {copy.index: copy.of for copy in copies}
    reason_of_pair: dict[tuple[int, int], str] = {}
    for (first, second), against in sorted(groups.doubts.items()):
        of, index = sorted((kept.get(first, first), kept.get(second, second)), key=best.__getitem__, reverse=True)
        if index != of:
            reason_of_pair.setdefault((index, of), doubt(traits[first], traits[second], against))
    return (Doubt(index, of, reason) for (index, of), reason in reason_of_pair.items())


def reason_of(duplicate: Duplicate, records: Sequence[Mapping[str, Any]], places: Sequence[str] = ()) -> str:
    """Return a text that says why a record is a copy, such as `the same title and year`.

    The copy may agree only with a third record, not with the record that stays. The text then names the third record.
    `places`: the source or file of each record, if there are several files.
    """
    if duplicate.via is None:
        return duplicate.agreed
    return f"through {_named(records[duplicate.via], duplicate.via, places)}: {duplicate.agreed}"


def exclusion_of(duplicate: Duplicate, records: Sequence[Mapping[str, Any]], places: Sequence[str] = ()) -> Exclusion:
    """Return the exclusion to store for a copy. The exclusion names the record that stays, and the fields that agree.

    `places`: the source or file of each record, if there are several files.
    """
    colon = ":" if duplicate.via is None else ""
    copied = _named(records[duplicate.of], duplicate.of, places)
    value = str(records[duplicate.index].get(duplicate.key.value, ""))
    return Exclusion(
        rule=DUPLICATE,
        reason=f"A copy of {copied}{colon} {reason_of(duplicate, records, places)}.",
        confidence=TITLE_CONFIDENCE if duplicate.key is Key.TITLE else 1.0,
        matched=value,
        field=duplicate.key.value,
        start=0,
        end=len(value),
        duplicate_of=duplicate.of,
    )


@dataclass
class _Group:
    members: list[int]
    identifiers: tuple[set[str], ...]  # in the order of `IDENTIFIERS`

    def contradicts(self, other: "_Group") -> bool:
        """Return True if both groups have identifiers of one kind, such as DOIs, but no identifier in common."""
        return any(
            ours and theirs and ours.isdisjoint(theirs)
            for ours, theirs in zip(self.identifiers, other.identifiers, strict=True)
        )


class _Groups:
    """The groups of copies among the records of a file, and the doubtful pairs. An index in the file names a record."""

    def __init__(self, traits: Sequence[Traits]) -> None:
        self._traits = traits
        self._groups: dict[int, _Group] = {}  # every member of a group -> its group; single records are absent
        self._links: dict[int, list[tuple[Key, int]]] = {}
        self.doubts: dict[tuple[int, int], tuple[str, ...]] = {}  # pair, in the file's order -> contradictions

    def of_several(self) -> Iterable[list[int]]:
        """Return a sorted list of members for each group of two or more copies."""
        return [sorted(group.members) for index, group in self._groups.items() if index == group.members[0]]

    def unite(self, indices: Sequence[int], key: Key) -> None:
        """Find the copies and doubtful pairs among the records at `indices`, which have the same `key`.

        Join the groups of copies, and store the doubtful pairs.
        """
        first_with: dict[Traits, int] = {}
        for index in indices:
            twin = first_with.setdefault(self._traits[index], index)
            if twin != index and LIKE[key](self._traits[twin], self._traits[twin]).likeness is Likeness.COPY:
                self._join(twin, index, key)
        differing = list(first_with.values())
        if len(differing) > CROWD:
            return
        verdicts: dict[tuple[int, int], PairVerdict] = {}
        traits = _with_shared_journals({index: self._traits[index] for index in differing})
        for first, second in combinations(differing, 2):
            verdicts[first, second] = verdicts[second, first] = self._verdict(first, second, key, traits)
        for first, second in sorted(combinations(differing, 2), key=lambda pair: not verdicts[pair].at_one_place):
            verdict = verdicts[first, second]
            if verdict.likeness is Likeness.COPY:
                torn = not verdict.at_one_place and any(
                    _tear(verdicts[first, third], verdicts[second, third])
                    for third in differing
                    if third not in (first, second)
                )
                if not torn and self._join(first, second, key):
                    continue
                verdict = PairVerdict(Likeness.DOUBT, _SEVERAL if torn else _BY_OTHERS)
            if verdict.likeness is Likeness.DOUBT:
                self.doubts.setdefault((min(first, second), max(first, second)), verdict.against)

    def _verdict(self, first: int, second: int, key: Key, traits: Mapping[int, Traits]) -> PairVerdict:
        """Return whether two records are copies, a doubt or different.

        Two records of one group are copies. The year of a known copy also counts as a year of its record.

        `key`: what the two records share. `traits`: record index -> the parts to compare.
        """
        if first in self._groups and self._groups[first] is self._groups.get(second):
            return PairVerdict(Likeness.COPY)
        ours, theirs = traits[first], traits[second]
        verdict = LIKE[key](ours, theirs)
        two_years = ours.year and theirs.year and ours.year != theirs.year
        if two_years and verdict.likeness is not Likeness.COPY and self._years_meet(first, second):
            of_one_year = LIKE[key](replace(ours, year=theirs.year), theirs)
            return of_one_year if of_one_year.likeness is Likeness.COPY else verdict
        return verdict

    def _years_meet(self, first: int, second: int) -> bool:
        """Return True if the two records, each with its known copies, have a year in common.

        If the answer is True, one of the two different years is probably the year of online publication.
        """
        ours, theirs = ({self._traits[at].year for at in self._of(index).members} for index in (first, second))
        return any(ours & theirs)

    def copies(self, members: Sequence[int], stays: int) -> Iterable[Duplicate]:
        """Yield every member except `stays`, as a duplicate of `stays`."""
        for index in members:
            if index == stays:
                continue
            if (direct := self._key_of(index, stays)) is not None:
                yield Duplicate(index, stays, direct)
            else:
                key, other = min(self._links[index], key=lambda link: (_STRENGTH[link[0]], link[1] != stays, link[1]))
                yield Duplicate(index, stays, key, via=None if other == stays else other)

    def _key_of(self, index: int, stays: int) -> Key | None:
        copy, kept = self._traits[index], self._traits[stays]
        copy = kept if copy == kept else copy  # the abstract of `kept` is already folded for comparison
        for key in Key:
            value = value_of(copy, key)
            if value and value == value_of(kept, key) and LIKE[key](copy, kept).likeness is Likeness.COPY:
                return key
        return None

    def _join(self, first: int, second: int, key: Key) -> bool:
        """Join the groups of two records and return True.

        If `key` is the title and the groups have different identifiers, join nothing and return False.
        """
        small, large = sorted((self._of(first), self._of(second)), key=lambda group: len(group.members))
        if small is not large:
            if key is Key.TITLE and small.contradicts(large):
                return False
            large.members += small.members
            for ours, theirs in zip(large.identifiers, small.identifiers, strict=True):
                ours |= theirs
            self._groups |= dict.fromkeys((*small.members, large.members[0]), large)
        self._links.setdefault(first, []).append((key, second))
        self._links.setdefault(second, []).append((key, first))
        return True

    def _of(self, index: int) -> _Group:
        traits = (get(self._traits[index]) for get in IDENTIFIERS.values())
        return self._groups.get(index) or _Group([index], tuple({text} if text else set() for text in traits))


def _with_shared_journals(traits: Mapping[int, Traits]) -> Mapping[int, Traits]:
    """Return the traits of records, by index, with more journal names.

    If a record has two names of a journal, all records with one of these names get both names.
    """
    shared = dict(traits)
    for bridge in traits.values():
        if len(bridge.journal.names) < 2:
            continue
        same = [index for index, trait in traits.items() if trait is not bridge and trait.journal.same(bridge.journal)]
        if any(shared[first].journal.same(shared[second].journal) is False for first, second in combinations(same, 2)):
            for index in same:
                names = shared[index].journal_as_written + bridge.journal_as_written
                shared[index] = replace(shared[index], journal_as_written=names)
    return shared


def _tear(first: PairVerdict, second: PairVerdict) -> bool:
    """Return True if a third record is a copy of only one record of a pair, and not of the other record.

    `first`, `second`: the verdicts on the third record with each record of the pair.
    """
    if first.at_one_place or second.at_one_place:
        return False
    likenesses = {verdict.likeness for verdict in (first, second) if verdict.against != MANY_PAPERS}
    return Likeness.COPY in likenesses and not likenesses.isdisjoint((Likeness.DOUBT, Likeness.DIFFERENT))


def rank(record: Mapping[str, Any]) -> tuple[bool, int, int]:
    """Return the rank of a record among its copies: has a title, length of its abstract, number of filled fields.

    The record with the highest rank stays.
    """
    abstract = record.get("abstract")
    length = len(abstract) if isinstance(abstract, str) and len(abstract) >= AN_ABSTRACT else 0
    filled = len([name for name, value in record.items() if value and name[:1] != "_"])
    return bool(record.get("title")), length, filled


def _named(record: Mapping[str, Any], index: int, places: Sequence[str]) -> str:
    line = record.get("_line")
    place = f"line {line}" if line is not None else f"place {index + 1}"
    if places:
        place = f"{places[index]}, {place}"
    return f"record {str(record.get('id', index + 1))!r} ({place})"
