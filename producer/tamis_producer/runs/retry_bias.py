"""Retry bias from the ledger: the ended and the failed records of each round of a batch, compared by trait."""

from collections import defaultdict
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, text

from tamis_schemas import ErrorKind, RetryBias
from tamis_schemas.batches.retry_bias import EndedRecord, RoundTally
from tamis_schemas.ledger.verdicts import text_of
from tamis_schemas.operations import kind_of

AT_ONCE = 1_000  # rows fetched together

# Failures before an item's present round are in `past_failures`, its last end in `results`. So each round is read as it
# was, although a failed item may be decided or pending now. The fields are those in a model's prompt, see
# `tamis_schemas.records.item.shown_fields`. The database finds the neighbours: `mark` is a decided record's place, with
# its last bit set if it passed.
_ENDS = text("""
SELECT ended.*,
       (max(mark) OVER (ORDER BY idx ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) & 1)
       + (min(mark) OVER (ORDER BY idx DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) & 1) AS neighbours
FROM (SELECT *, CASE WHEN state = 'decided' THEN 2 * idx::bigint + coalesce(passed, false)::int END AS mark FROM (
SELECT i.idx, i.state, r.round, r.error_kind, past.rounds, past.kinds,
       i.state = 'decided' AND r.value #>> '{}' = :including AS passed,
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
) AS each) AS ended
""")
_YEAR = r"(?:^|\D)((?:1[5-9]|2[01])\d\d)(?!\d)"
_TO_TELL = text("""
SELECT b.operation, b.round > 1 OR EXISTS (SELECT FROM item_states i WHERE i.batch_id = b.id AND i.state = 'failed')
       AS worth_telling
FROM batches b WHERE b.id = :batch_id
""")


def read_retry_bias(connection: Connection, batch_id: UUID, *, decisions: bool = True) -> RetryBias:
    """Return the failures of each round, by traits of the records. Without failures and retries, the result is empty.

    One of the traits depends on a record's neighbours: the nearest decided records before and after it in the batch.
    Without `decisions`, this trait and the pass rates are omitted.
    """
    batch = connection.execute(_TO_TELL, {"batch_id": batch_id}).one()
    if not batch.worth_telling:
        return RetryBias()
    kind = kind_of(batch.operation)
    decides = decisions and kind.decides()
    values = {"batch_id": batch_id, "including": text_of(kind.includes), "year": _YEAR}
    rounds: dict[int, RoundTally] = defaultdict(RoundTally)
    for row in connection.execute(_ENDS, values, execution_options={"yield_per": AT_ONCE}):
        passed_around = row.neighbours if decides else None
        for number, failure in zip(row.rounds or (), row.kinds or (), strict=True):
            rounds[number].add(_evaluated(row, passed_around, failure))
        if row.state == "failed":
            rounds[row.round].add(_evaluated(row, passed_around, row.error_kind))
        elif row.state == "decided":
            rounds[row.round].add(_evaluated(row, passed_around, None, row.passed if decides else None))
    return RetryBias(rounds=tuple(rounds[number].compared(number) for number in sorted(rounds)))


def _evaluated(row: Row[Any], neighbours: int | None, kind: str | None, passed: bool | None = None) -> EndedRecord:
    failure = None if kind is None else ErrorKind(kind)
    return EndedRecord(row.characters, row.year, neighbours, failure, passed)
