"""Retry bias from the ledger: what ended in each round of a batch, and what of it failed."""

from collections import defaultdict
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, text

from tamis_schemas import ErrorKind, Filter, Inclusion, InclusionStatus, RetryBias
from tamis_schemas.operations import operation_name
from tamis_schemas.retry_bias import Evaluated, compare

DECIDING = tuple(operation_name(kind) for kind in (Filter, Inclusion))  # the operations whose results pass or do not

# What an item failed with before its present round stands in `past_failures`, its last end in `results`: so each round
# is read as it was, although an item that failed in one may have been decided in a later one, or be pending again.
# The fields are those that a model is shown, see `tamis_schemas.item.shown_fields`.
_ENDS = text("""
SELECT i.idx, i.state, r.round, r.error_kind, past.rounds, past.kinds,
       i.state = 'decided' AND r.value #>> '{}' IN ('true', :included) AS passed,
       coalesce((SELECT sum(length(field.value)) FROM json_each_text(p.payload) AS field
                 WHERE field.key <> 'id' AND left(field.key, 1) <> '_'), 0) AS characters,
       coalesce(substring(p.payload ->> 'year' FROM :year),
                substring(p.payload ->> 'publication_date' FROM :year))::int AS year
FROM item_states i
JOIN payloads p ON p.batch_id = i.batch_id AND p.idx = i.idx
LEFT JOIN results r ON r.batch_id = i.batch_id AND r.idx = i.idx
LEFT JOIN (
    SELECT idx, array_agg(round) AS rounds, array_agg(error_kind) AS kinds
    FROM past_failures WHERE batch_id = :batch_id GROUP BY idx
) AS past ON past.idx = i.idx
WHERE i.batch_id = :batch_id AND i.state <> 'excluded_by_filter'
ORDER BY i.idx
""")
_YEAR = r"(?:^|\D)((?:1[5-9]|2[01])\d\d)(?!\d)"
_TO_TELL = text("""
SELECT b.operation, b.round > 1 OR EXISTS (SELECT FROM item_states i WHERE i.batch_id = b.id AND i.state = 'failed')
       AS worth_telling
FROM batches b WHERE b.id = :batch_id
""")


def read_retry_bias(connection: Connection, batch_id: UUID) -> RetryBias:
    """How the failures of each round were distributed; no rounds where nothing failed and there was but one round.

    The neighbours of a record are the decided ones next before and after it in the batch, whichever round decided them.
    """
    batch = connection.execute(_TO_TELL, {"batch_id": batch_id}).one()
    if not batch.worth_telling:
        return RetryBias()
    given = {"batch_id": batch_id, "included": InclusionStatus.INCLUDE.value, "year": _YEAR}
    rows = connection.execute(_ENDS, given).all()
    decides = batch.operation in DECIDING
    neighbours = _neighbours(rows) if decides else [None] * len(rows)
    rounds: dict[int, list[Evaluated]] = defaultdict(list)
    for row, passed_around in zip(rows, neighbours, strict=True):
        for number, kind in zip(row.rounds or (), row.kinds or (), strict=True):
            rounds[number].append(_evaluated(row, passed_around, kind))
        if row.state == "failed":
            rounds[row.round].append(_evaluated(row, passed_around, row.error_kind))
        elif row.state == "decided":
            rounds[row.round].append(_evaluated(row, passed_around, None, row.passed if decides else None))
    return RetryBias(rounds=tuple(compare(number, rounds[number]) for number in sorted(rounds)))


def _evaluated(row: Row[Any], neighbours: int | None, kind: str | None, passed: bool | None = None) -> Evaluated:
    failure = None if kind is None else ErrorKind(kind)
    return Evaluated(row.characters, row.year, neighbours, failure, passed)


def _neighbours(rows: "list[Row[Any]] | Any") -> list[int | None]:
    """For each record, how many of its two decided neighbours passed; None at the ends, where there are not two."""
    before: list[bool | None] = []
    last: bool | None = None
    for row in rows:
        before.append(last)
        if row.state == "decided":
            last = bool(row.passed)
    found: list[int | None] = []
    following: bool | None = None
    for row, preceding in zip(reversed(rows), reversed(before), strict=True):
        found.append(None if preceding is None or following is None else preceding + following)
        if row.state == "decided":
            following = bool(row.passed)
    return found[::-1]
