"""Completion: the records of one source in two files, of which one completes the other.

A database exports the same records in several forms, and none holds all: PubMed's CSV has no abstracts, its text has
them. Two files of one source whose records share the source's own identifier are one export in two forms. Their rows
are joined: each field is that of the first file which has it, and the record is counted once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .filling import filled
from .likeness import Likeness, by_identifier
from .record import CANONICAL, LINE, own_id
from .source import SOURCE
from .traits import pmid_in, traits_of, trial_in

# Of the smaller file's identifiers so many stand in the other: the few that do not are records that one form lacks.
SHARED = 0.9

# Where more records share an identifier, it says nothing.
CROWD = 16

Identifier = tuple[str, str]  # its kind, and its text


@dataclass(frozen=True)
class Completed:
    """The records of two files of one source."""

    records: list[dict[str, Any]]  # the first file's in their order, then what only the second has
    joined: int  # records of the second that complete one of the first
    added: list[int]  # places in the second file of the others


def complete(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]], name: str) -> Completed:
    """The records of the first file, filled from those of the second one, `name`, that have their identifier.

    Fields without a canonical name are filled too. Where titles contradict the identifier (a number that each file
    counts anew), and of several records with one identifier in a file, each beyond those of the other stays a record
    of its own.
    """
    records = [dict(record) for record in first]
    places: dict[Identifier, list[int]] = {}
    for place, record in enumerate(records):
        for identifier in identifiers_of(record):
            places.setdefault(identifier, []).append(place)
    taken: set[int] = set()
    added: list[int] = []
    for at, other in enumerate(second):
        alike = (place for identifier in identifiers_of(other) for place in places.get(identifier, ())[:CROWD])
        own_place = next((place for place in alike if place not in taken and _same(records[place], other)), None)
        if own_place is None:
            added.append(at)
            continue
        taken.add(own_place)
        own = filled(records[own_place], [(other, {"file": name, "line": other.get(LINE)})])
        kept = {name: value for name, value in other.items() if name not in own and name not in (LINE, SOURCE)}
        records[own_place] = own | kept
    return Completed([*records, *(dict(second[at]) for at in added)], len(taken), added)


def in_two_forms(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> bool:
    """True where two files of one database are one export in two forms, and not two searches or two parts of one.

    At least 90 % of the smaller file's identifiers stand in the other, and one of the files has a canonical field, in
    half of its records or more, that the other has in none.
    """
    ours, theirs = ({key for record in records for key in identifiers_of(record)[:1]} for records in (one, other))
    fewer = min(len(ours), len(theirs))
    if not fewer or len(ours & theirs) < SHARED * fewer:
        return False
    return _has_more(one, other) or _has_more(other, one)


def identifiers_of(record: Mapping[str, Any]) -> list[Identifier]:
    """The identifiers that the source itself gave the record, the strongest first: PubMed id, trial id, its own id.

    A DOI is the publisher's: congress supplements lend one to all their parts.
    """
    trial = trial_in(record)
    of_trial = trial if record.get("id") == trial else None  # a paper may name a trial: it is not the trial
    kinds = {"pmid": pmid_in(record), "nct_id": of_trial, "id": own_id(record)}
    return [(kind, text) for kind, text in kinds.items() if text]


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if one.get("title") == other.get("title"):
        return True
    return by_identifier(traits_of(one), traits_of(other)).likeness is Likeness.COPY


def _has_more(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> bool:
    return any(
        2 * sum(bool(record.get(name)) for record in one) >= len(one) and not any(record.get(name) for record in other)
        for name in CANONICAL
    )
