"""Decisions from before each person's stood on its own: the last row of an item counted, whoever wrote it.

What counted goes on counting, as revision 0014 sees to for the rows of a ledger: where the last row withdrew, it took
back what everybody had said; where others said otherwise, it settled that.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

from .rows import Row, Value

SETTLES = "settles"  # the column that tells: an archive with it is of a release with the new rule


def as_before(columns: Sequence[str], rows: Iterable[Row]) -> tuple[tuple[str, ...], Iterator[Row]]:
    """The columns and rows of an archive's overrides, with `settles` and withdrawals added where they are needed."""
    names = ("batch_id", "idx", "value", "reviewer", "note", "created_at")
    batch, idx, value, reviewer, note, at = map(columns.index, names)
    every = list(rows)
    last: dict[tuple[Value, Value], int] = {}
    latest: dict[tuple[Value, Value], dict[Value, Row]] = {}
    for place, row in enumerate(every):
        last[row[batch], row[idx]] = place
        latest.setdefault((row[batch], row[idx]), {})[row[reviewer]] = row
    settled: set[int] = set()
    withdrawn: list[Row] = []
    for item, place in last.items():
        counted = every[place]
        others = [row for row in latest[item].values() if row[value] is not None]
        if counted[value] is None:
            changed = {value: None, note: f"withdrawn by {counted[reviewer]}", at: counted[at]}
            withdrawn += [_with(row, changed) for row in others]
        elif any(json.loads(str(row[value])) != json.loads(str(counted[value])) for row in others):
            settled.add(place)
    made = [(*row, place in settled) for place, row in enumerate(every)] + [(*row, False) for row in withdrawn]
    return (*columns, SETTLES), iter(made)


def _with(row: Row, changed: dict[int, Value]) -> Row:
    return tuple(changed.get(place, value) for place, value in enumerate(row))
