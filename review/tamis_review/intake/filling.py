"""Filling: a record's missing fields taken from other forms or copies of it, and where each was taken from.

A field that the record has is never overwritten. Where another one says something else there, both are kept: the
record's own in its place, the other's under `_tamis_contradicted`, for a human to see.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .record import CANONICAL
from .source import is_blank
from .traits import doi_in, pmid_in, trial_in, year_in

FILLED = "_tamis_filled"  # field -> where it was taken from
CONTRADICTED = "_tamis_contradicted"  # field -> what others say, each with where it stands

# Of a copy: `from`, its place in the batch, and `source`; of a row of a file: `file`, `line`.
Origin = Mapping[str, Any]

# Of these a record has one, so that another value contradicts it. Other fields are written in many ways.
_COMPARED: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "year": year_in,
    "doi": doi_in,
    "pmid": pmid_in,
    "nct_id": trial_in,
}
_FROM_COPIES = tuple(name for name in CANONICAL if name != "id")


def filled(record: Mapping[str, Any], others: Iterable[tuple[Mapping[str, Any], Origin]]) -> dict[str, Any]:
    """The record with each canonical field that it lacks from the first of the others that has it.

    `_tamis_filled` says of each such field where it was taken from, `_tamis_contradicted` of year, DOI, PubMed id and
    trial id what others say instead. A record that gains nothing and is not contradicted is as it was. Its fields
    stand in the canonical order, what has no canonical name behind them.
    """
    own, gained, against = dict(record), dict[str, Origin](), dict[str, list[Mapping[str, Any]]]()
    for other, origin in others:
        missing = [name for name in _FROM_COPIES if is_blank(own.get(name)) and not is_blank(other.get(name))]
        own |= {name: other[name] for name in missing}
        gained |= dict.fromkeys(missing, origin)
        for name, value_in in _COMPARED.items():
            ours, theirs = value_in(own), value_in(other)
            if ours is not None and theirs is not None and ours != theirs:
                against.setdefault(name, []).append({"value": other[name], **origin})
    return _remembered(own, gained, against) if gained or against else own


def said_of_fields(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What is kept under FILLED or CONTRADICTED: field -> what is said of it; empty where nothing was kept."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def _remembered(
    own: dict[str, Any], gained: Mapping[str, Origin], against: Mapping[str, list[Mapping[str, Any]]]
) -> dict[str, Any]:
    """The record in canonical order, with what was filled and contradicted now and before."""
    ordered = {name: own[name] for name in CANONICAL if name in own}
    ordered |= {name: value for name, value in own.items() if name not in ordered}
    if gained:
        ordered[FILLED] = {**said_of_fields(own, FILLED), **gained}
    if against:
        before = said_of_fields(own, CONTRADICTED)
        ordered[CONTRADICTED] = {**before, **{name: before.get(name, []) + said for name, said in against.items()}}
    return ordered
