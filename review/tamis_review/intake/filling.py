"""Filling: a record's missing fields, copied with their origin from duplicates or other exports of the record.

Existing fields are never overwritten. If a duplicate has a different value, this value is stored under
`_tamis_contradicted`, for a human to see.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .record import CANONICAL
from .source import is_blank
from .traits import doi_in, pmid_in, trial_in, year_in

FILLED = "_tamis_filled"  # field -> origin of its value
CONTRADICTED = "_tamis_contradicted"  # field -> differing values, each with its origin

# For a duplicate: `from` (its index in the batch) and `source`. For a row of a file: `file` and `line`.
Origin = Mapping[str, Any]

# Fields whose values have a single spelling. A different value is a contradiction.
_COMPARED: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "year": year_in,
    "doi": doi_in,
    "pmid": pmid_in,
    "nct_id": trial_in,
}
_FROM_COPIES = tuple(name for name in CANONICAL if name != "id")


def filled(record: Mapping[str, Any], others: Iterable[tuple[Mapping[str, Any], Origin]]) -> dict[str, Any]:
    """Return the record with its missing canonical fields, each from the first of `others` that has the field.

    `_tamis_filled` has the origins of the copied fields. `_tamis_contradicted` has the values of year, DOI, PubMed id
    or trial id that differ in `others`. Without such fields or values, the record is unchanged. Otherwise its canonical
    fields come first.
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
    """Return the origins of filled fields (`name` is FILLED), or the differing values (CONTRADICTED), by field.

    Return {} if the record has none.
    """
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def _remembered(
    merged: dict[str, Any], gained: Mapping[str, Origin], against: Mapping[str, list[Mapping[str, Any]]]
) -> dict[str, Any]:
    """Return the record with its canonical fields first.

    Add the origins in `gained` to the record's `_tamis_filled`, and the values in `against` to `_tamis_contradicted`.
    """
    ordered = {name: merged[name] for name in CANONICAL if name in merged}
    ordered |= {name: value for name, value in merged.items() if name not in ordered}
    if gained:
        ordered[FILLED] = {**said_of_fields(merged, FILLED), **gained}
    if against:
        before = said_of_fields(merged, CONTRADICTED)
        ordered[CONTRADICTED] = {**before, **{name: before.get(name, []) + values for name, values in against.items()}}
    return ordered
