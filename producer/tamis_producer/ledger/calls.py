"""The results of single calls, and the reasons why items have no result yet. Both are read for many calls at once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Connection, Integer, Uuid, any_, exists, func, literal, select

from tamis_schemas import (
    BatchStatus,
    ErrorKind,
    EvaluationResult,
    FieldsResult,
    ItemStatus,
    Pause,
)
from tamis_schemas.ledger import batches, items, payloads, results, workers

from .outcomes import result_of

ENDED = [status.value for status in ItemStatus if status.terminal]


@dataclass(frozen=True)
class CallResult:
    """The result of one call. If `result` is None, the item was not evaluated."""

    status: ItemStatus
    result: EvaluationResult | FieldsResult | None = None
    detail: Mapping[str, Any] | None = None
    error_kind: ErrorKind | None = None
    pause: Pause | None = None  # pause of the batch, if the item is still pending because of this pause

    @property
    def reason(self) -> str:
        """The reason why there is no result."""
        if self.pause is not None:
            return f"not evaluated: {self.pause.reason}"
        return f"not evaluated: the item is {self.status}"  # its batch was cancelled


@dataclass(frozen=True)
class Hindrance:
    """The reasons why some batches do not continue."""

    stuck: Mapping[UUID, Pause]  # pauses of batches that paused themselves and have no call in flight
    live_workers: int


def find_call(connection: Connection, call_id: UUID) -> tuple[UUID, int] | None:
    """Return a single call's batch and its item's place. None: there is no such call, or its batch is being purged."""
    c = payloads.c
    places = select(c.batch_id, c.idx).join(batches, batches.c.id == c.batch_id)
    row = connection.execute(places.where(c.call_id == call_id, batches.c.purging_at.is_(None))).first()
    return None if row is None else (row.batch_id, row.idx)


def read_call_results(
    connection: Connection, wanted: Collection[tuple[UUID, int]]
) -> Mapping[tuple[UUID, int], CallResult]:
    """Return the results of the wanted items that have ended. `wanted`: the batch's id and the item's place of each."""
    batch_ids, places = [batch_id for batch_id, _ in wanted], [place for _, place in wanted]
    pairs_given = func.unnest(literal(batch_ids, ARRAY(Uuid)), literal(places, ARRAY(Integer)))
    pair = pairs_given.table_valued("batch_id", "idx").render_derived("asked")
    statement = (
        select(
            *(items.c.batch_id, items.c.idx, items.c.state, batches.c.operation, results.c.value),
            *(results.c.confidence, results.c.reasoning, results.c.error, results.c.error_kind, results.c.detail),
        )
        .join(pair, (pair.c.batch_id == items.c.batch_id) & (pair.c.idx == items.c.idx))
        .join(batches, batches.c.id == items.c.batch_id)
        .outerjoin(results, (results.c.batch_id == items.c.batch_id) & (results.c.idx == items.c.idx))
        .where(items.c.state.in_(ENDED))
    )
    return {(row.batch_id, row.idx): _call_result(row) for row in connection.execute(statement)}


def read_hindrance(connection: Connection, batch_ids: Sequence[UUID]) -> Hindrance:
    """Return the reasons why these batches do not continue."""
    running = exists().where(items.c.batch_id == batches.c.id, items.c.state == ItemStatus.RUNNING)
    paused = select(batches.c.id, batches.c.pause).where(
        batches.c.id == any_(literal([*batch_ids], ARRAY(Uuid))), batches.c.state == BatchStatus.PAUSED, ~running
    )
    pauses = {row.id: Pause.model_validate(row.pause) for row in connection.execute(paused) if row.pause is not None}
    live = select(func.count()).where(workers.c.lease_until > func.now())
    return Hindrance(
        stuck={batch_id: pause for batch_id, pause in pauses.items() if pause.needs_people},
        live_workers=connection.execute(live).scalar_one(),
    )


def _call_result(row: Any) -> CallResult:
    status = ItemStatus(row.state)
    if status not in (ItemStatus.DECIDED, ItemStatus.FAILED):
        return CallResult(status)
    error_kind = None if row.error_kind is None else ErrorKind(row.error_kind)
    return CallResult(status, result_of(row), row.detail, error_kind)
