"""Duplicates: which records of a file are copies of another one, which copy stays, and which pairs are doubtful.

Two records are copies where one of these agrees, and nothing contradicts it:

| key | agrees | contradicted by |
|---|---|---|
| `doi`, `pmid` | the identifier | another title: congress supplements and books lend one DOI to all their parts |
| `title` | title, and year and first author where both have them | another DOI, PMID, trial, abstract or journal |

A congress abstract contradicts a paper too. A title alone is not enough: the shorter it is, the more has to agree
beside it (`LETTERS`), or the abstracts do. A notice (erratum, retraction, reply) is no copy of the paper it is about.

What agrees in title and first author and is contradicted is a doubt: both records stay, and a human is shown the pair.
A record that would fit two others which are not copies of each other stays too: to screen a copy costs one call, to
lose a record may cost the review its result.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from tamis_schemas.answers.exclusion import DUPLICATE, Exclusion

from .likeness import IDENTIFIERS, LIKE, MANY_PAPERS, Key, Likeness, PairVerdict, agreement, doubt, value_of
from .traits import AN_ABSTRACT, Traits, traits_of

# Where more different records share a title or a DOI, it says nothing; and pairs are counted in squares.
CROWD = 16
# Of 40 pairs with nothing but the title in common and checked by hand, 40 were copies: at least 0.91 (Wilson, 95 %).
TITLE_CONFIDENCE = 0.9

_SEVERAL = ("one of them fits several records that are no copies of each other",)
_BY_OTHERS = ("other identifiers on copies of them",)


@dataclass(frozen=True)
class Duplicate:
    """A record that is a copy of another; both are places in the file, from 0."""

    index: int
    of: int  # the copy that stays
    key: Key
    via: int | None = None  # the copy with which `key` agrees, where it is not the one that stays
    agreed: str = field(default="", compare=False)  # what agrees with that one, in words


@dataclass(frozen=True)
class Doubt:
    """Two records that may be one; both stay. Places in the file, from 0."""

    index: int
    of: int  # the one that would stay
    reason: str  # what agrees, and what contradicts it


@dataclass(frozen=True)
class Duplicates:
    """The copies and doubts among the records of a file."""

    copies: list[Duplicate] = field(default_factory=list)  # by `index`
    doubts: list[Doubt] = field(default_factory=list)  # by `index` and `of`; between records that stay


_STRENGTH = {key: rank for rank, key in enumerate(Key)}


def find_duplicates(records: Sequence[Mapping[str, Any]]) -> Duplicates:
    """Every record that is a copy of another one, by place in the file, and the doubtful pairs of those that stay.

    Of several copies the one stays that offers most for screening: with a title, the longest abstract, the most
    fields; at a tie the first in the file. Time grows linearly with the number of records, which are not changed.
    """
    traits = [traits_of(record) for record in records]
    groups = _Groups(traits)
    for key in Key:
        for indices in _blocks(traits, key).values():
            if len(indices) > 1:
                groups.unite(indices, key)
    for indices in _blocks_of_other_titles(traits):
        groups.unite(indices, Key.TITLE)
    best = [(*rank(record), -index) for index, record in enumerate(records)]
    copies = [
        replace(copy, agreed=agreement(traits[copy.index], traits[copy.of if copy.via is None else copy.via], copy.key))
        for members in groups.of_several()
        for copy in groups.copies(members, max(members, key=best.__getitem__))
    ]
    return Duplicates(
        sorted(copies, key=lambda copy: copy.index),
        sorted(_doubts(groups, copies, best, traits), key=lambda one: (one.index, one.of)),
    )


def _blocks(traits: Sequence[Traits], key: Key) -> dict[str, list[int]]:
    shared: dict[str, list[int]] = {}
    for index, own in enumerate(traits):
        if value := value_of(own, key):
            shared.setdefault(value, []).append(index)
    return shared


def _blocks_of_other_titles(traits: Sequence[Traits]) -> Iterable[list[int]]:
    """The records of each title, with those that have it as one of their other ways."""
    titles = _blocks(traits, Key.TITLE)
    others: dict[str, list[int]] = {}
    for index, own in enumerate(traits):
        for title in sorted(own.other_titles & titles.keys()):
            others.setdefault(title, []).append(index)
    return (titles[title] + indices for title, indices in others.items())


def _doubts(
    groups: "_Groups", copies: Sequence[Duplicate], best: Sequence[tuple[bool, int, int, int]], traits: Sequence[Traits]
) -> Iterable[Doubt]:
    """One doubt for two records that stay, whichever of their copies raised it."""
    kept = {copy.index: copy.of for copy in copies}
    reason_of_pair: dict[tuple[int, int], str] = {}
    for (one, other), against in sorted(groups.doubts.items()):
        of, index = sorted((kept.get(one, one), kept.get(other, other)), key=best.__getitem__, reverse=True)
        if index != of:
            reason_of_pair.setdefault((index, of), doubt(traits[one], traits[other], against))
    return (Doubt(index, of, reason) for (index, of), reason in reason_of_pair.items())


def reason_of(duplicate: Duplicate, records: Sequence[Mapping[str, Any]], places: Sequence[str] = ()) -> str:
    """Return the agreement in words: `the same title and year`, or of which other copy it is a copy."""
    if duplicate.via is None:
        return duplicate.agreed
    return f"by way of {_named(records[duplicate.via], duplicate.via, places)}: {duplicate.agreed}"


def exclusion_of(duplicate: Duplicate, records: Sequence[Mapping[str, Any]], places: Sequence[str] = ()) -> Exclusion:
    """Return the ledger's exclusion of a copy: which record it copies, and what agrees.

    `places`: of records from several files, in which source or file each stands.
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
    """Records that are copies of each other."""

    members: list[int]
    identifiers: tuple[set[str], ...]  # as `IDENTIFIERS` has them

    def contradicts(self, other: "_Group") -> bool:
        """True where both have an identifier of a kind, and share none: no chain of likenesses may join them."""
        return any(
            ours and theirs and ours.isdisjoint(theirs)
            for ours, theirs in zip(self.identifiers, other.identifiers, strict=True)
        )


class _Groups:
    """The groups of records that are copies of each other, and the pairs that said so."""

    def __init__(self, traits: Sequence[Traits]) -> None:
        self._traits = traits
        self._groups: dict[int, _Group] = {}  # every member of a group -> its group; a record on its own is not here
        self._links: dict[int, list[tuple[Key, int]]] = {}
        self.doubts: dict[tuple[int, int], tuple[str, ...]] = {}  # pair, the first in the file first -> against it

    def of_several(self) -> Iterable[list[int]]:
        """The members of each group."""
        return [sorted(group.members) for index, group in self._groups.items() if index == group.members[0]]

    def unite(self, indices: Sequence[int], key: Key) -> None:
        """Join those of `indices`, which share `key`, that are the same record; keep what is doubtful."""
        like = LIKE[key]
        first_with: dict[Traits, int] = {}
        for index in indices:
            own = self._traits[index]
            twin = first_with.setdefault(own, index)
            if twin != index and like(self._traits[twin], self._traits[twin]).likeness is Likeness.COPY:
                self._join(twin, index, key)
        differing = list(first_with.values())
        if len(differing) > CROWD:
            return
        verdicts: dict[tuple[int, int], PairVerdict] = {}
        traits = _with_shared_journals({index: self._traits[index] for index in differing})
        for one, other in combinations(differing, 2):
            verdicts[one, other] = verdicts[other, one] = self._verdict(one, other, key, traits)
        for one, other in combinations(differing, 2):
            verdict = verdicts[one, other]
            if verdict.likeness is Likeness.COPY:
                torn = any(
                    _tear(verdicts[one, third], verdicts[other, third])
                    for third in differing
                    if third not in (one, other)
                )
                if not torn and self._join(one, other, key):
                    continue
                verdict = PairVerdict(Likeness.DOUBT, _SEVERAL if torn else _BY_OTHERS)
            if verdict.likeness is Likeness.DOUBT:
                self.doubts.setdefault((min(one, other), max(one, other)), verdict.against)

    def _verdict(self, one: int, other: int, key: Key, traits: Mapping[int, Traits]) -> PairVerdict:
        """Return the verdict on two records, with what is known of their copies."""
        if one in self._groups and self._groups[one] is self._groups.get(other):
            return PairVerdict(Likeness.COPY)
        ours, theirs = traits[one], traits[other]
        verdict = LIKE[key](ours, theirs)
        two_years = ours.year and theirs.year and ours.year != theirs.year
        if two_years and verdict.likeness is not Likeness.COPY and self._years_meet(one, other):
            of_one_year = LIKE[key](replace(ours, year=theirs.year), theirs)
            return of_one_year if of_one_year.likeness is Likeness.COPY else verdict
        return verdict

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
                key, other = min(self._links[index], key=lambda link: (_STRENGTH[link[0]], link[1] != stays, link[1]))
                yield Duplicate(index, stays, key, via=None if other == stays else other)

    def _key_of(self, index: int, stays: int) -> Key | None:
        own, other = self._traits[index], self._traits[stays]
        own = other if own == other else own  # whose abstract is folded already
        for key in Key:
            value = value_of(own, key)
            if value and value == value_of(other, key) and LIKE[key](own, other).likeness is Likeness.COPY:
                return key
        return None

    def _join(self, one: int, other: int, key: Key) -> bool:
        """Put the two into one group, and return whether they are in one: identifiers of their copies may forbid it."""
        small, large = sorted((self._of(one), self._of(other)), key=lambda group: len(group.members))
        if small is not large:
            if key is Key.TITLE and small.contradicts(large):
                return False
            large.members += small.members
            for ours, theirs in zip(large.identifiers, small.identifiers, strict=True):
                ours |= theirs
            self._groups |= dict.fromkeys((*small.members, large.members[0]), large)
        self._links.setdefault(one, []).append((key, other))
        self._links.setdefault(other, []).append((key, one))
        return True

    def _of(self, index: int) -> _Group:
        own = self._traits[index]
        return self._groups.get(index) or _Group(
            [index], tuple({v} if (v := get(own)) else set() for get in IDENTIFIERS.values())
        )


def _with_shared_journals(traits: Mapping[int, Traits]) -> Mapping[int, Traits]:
    """The traits, with all names of a journal on each record that has one of them: some records have two names."""
    shared = dict(traits)
    for bridge in traits.values():
        if len(bridge.journal.names) < 2:
            continue
        same = [index for index, own in traits.items() if own is not bridge and own.journal.same(bridge.journal)]
        if any(shared[one].journal.same(shared[other].journal) is False for one, other in combinations(same, 2)):
            for index in same:
                names = shared[index].journal_as_written + bridge.journal_as_written
                shared[index] = replace(shared[index], journal_as_written=names)
    return shared


def _tear(one: PairVerdict, other: PairVerdict) -> bool:
    """True where a third record is a copy of one of two, and something speaks against the other."""
    likenesses = {verdict.likeness for verdict in (one, other) if verdict.against != MANY_PAPERS}
    return Likeness.COPY in likenesses and not likenesses.isdisjoint((Likeness.DOUBT, Likeness.DIFFERENT))


def rank(record: Mapping[str, Any]) -> tuple[bool, int, int]:
    """Return what decides which copy stays: of several the one with the highest rank, at a tie the first."""
    abstract = record.get("abstract")
    length = len(abstract) if isinstance(abstract, str) and len(abstract) >= AN_ABSTRACT else 0
    filled = sum(1 for name, value in record.items() if value and not name.startswith("_"))
    return bool(record.get("title")), length, filled


def _named(record: Mapping[str, Any], index: int, places: Sequence[str]) -> str:
    line = record.get("_line")
    place = f"line {line}" if line is not None else f"place {index + 1}"
    if places:
        place = f"{places[index]}, {place}"
    return f"record {str(record.get('id', index + 1))!r} ({place})"
