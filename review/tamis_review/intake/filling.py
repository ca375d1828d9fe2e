"""Filling: missing fields of a record, copied with their origin from its duplicates or from other exports of it.

Existing fields are never overwritten. If another record has a different value, that value is kept under
`_tamis_contradicted`, for a human to see.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .record import CANONICAL
from .source import is_blank
from .traits import doi_in, pmid_in, trial_in, year_in

FILLED = "_tamis_filled"  # field -> origin of its value
CONTRADICTED = "_tamis_contradicted"  # field -> differing values, each with its origin

# For a copy: `from` (place in the batch) and `source`; for a row of a file: `file` and `line`.
Origin = Mapping[str, Any]

# Fields with a single spelling: another value is a contradiction.
_COMPARED: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "year": year_in,
    "doi": doi_in,
    "pmid": pmid_in,
    "nct_id": trial_in,
}
_FROM_COPIES = tuple(name for name in CANONICAL if name != "id")


def filled(record: Mapping[str, Any], others: Iterable[tuple[Mapping[str, Any], Origin]]) -> dict[str, Any]:
    """Return the record with missing canonical fields, each from the first of `others` that has the field.

    `_tamis_filled` has the origins of the copied fields. `_tamis_contradicted` has the values of year, DOI, PubMed id
    or trial id that differ in `others`. If either is added, the record's canonical fields come first. If not, the
    record is unchanged.
    """
    merged, gained, against = dict(record), dict[str, Origin](), dict[str, list[Mapping[str, Any]]]()
    for other, origin in others:
        missing = [name for name in _FROM_COPIES if is_blank(merged.get(name)) and not is_blank(other.get(name))]
        merged |= {name: other[name] for name in missing}
        gained |= dict.fromkeys(missing, origin)
        for name, value_in in _COMPARED.items():
            ours, theirs = value_in(merged), value_in(other)
            if ours is not None and theirs is not None and ours != theirs:
                against.setdefault(name, []).append({"value": other[name], **origin})
    return _remembered(merged, gained, against) if gained or against else merged


def said_of_fields(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the facts about each field under `name`, FILLED or CONTRADICTED. Return {} if there are none."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def _remembered(
    merged: dict[str, Any], gained: Mapping[str, Origin], against: Mapping[str, list[Mapping[str, Any]]]
) -> dict[str, Any]:
    """Return the record with its canonical fields first.

    The origins in `gained` are added to its `_tamis_filled`, and the values in `against` to its `_tamis_contradicted`.
    """
    ordered = {name: merged[name] for name in CANONICAL if name in merged}
    ordered |= {name: value for name, value in merged.items() if name not in ordered}
    if gained:
        ordered[FILLED] = {**said_of_fields(merged, FILLED), **gained}
    if against:
        before = said_of_fields(merged, CONTRADICTED)
        ordered[CONTRADICTED] = {**before, **{name: before.get(name, []) + values for name, values in against.items()}}
    return ordered
