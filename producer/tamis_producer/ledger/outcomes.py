"""What came out: results in the order of the items, and summaries."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Connection, Integer, Row, Select, any_, literal, select

from tamis_schemas import (
    ErrorKind,
    EvaluationResult,
    Exclusion,
    ExtractFields,
    FieldsResult,
    Inclusion,
    InclusionDecision,
    ItemResult,
    ItemStatus,
    Provenance,
    Summary,
    Usage,
)
from tamis_schemas.ledger import batches, exclusions, items, results, summaries
from tamis_schemas.operations import operation_name

from .evaluations import evaluations_of, said
from .exclusion_reasons import exclusion_reason
from .overrides import override_of, standing

STREAM_ROWS = 500  # fetched at once when results are streamed
_ENDED = (ItemStatus.DECIDED, ItemStatus.FAILED)  # of the others, what stands in `results` is of an earlier round


def stream_results(
    connection: Connection, batch_id: UUID, places: Collection[int] | None = None
) -> Iterator[ItemResult]:
    """Every item of a batch in item order, or those at some places, with its result where it has one; in portions.

    An item that is asked about again has none until it ends anew; its provenance is what was paid for it before.
    """
    statement = _of_items(batch_id).execution_options(yield_per=STREAM_ROWS)
    if places is not None:
        statement = statement.where(items.c.idx == any_(literal([*places], ARRAY(Integer))))
    with connection.execute(statement) as rows:  # a reader who stops early closes the cursor too
        for row in rows:
            yield _item_result(batch_id, row)


def read_results(
    connection: Connection, batch_id: UUID, after: int | None, limit: int, places: Sequence[int] | None = None
) -> list[ItemResult]:
    """At most `limit` items behind the place `after`, None: from the first; or of those at some places, in order."""
    statement = _of_items(batch_id).limit(limit)
    if after is not None:
        statement = statement.where(items.c.idx > after)
    if places is not None:
        statement = statement.where(items.c.idx == any_(literal([*places], ARRAY(Integer))))
    return [_item_result(batch_id, row) for row in connection.execute(statement)]


def _of_items(batch_id: UUID) -> Select[Any]:
    columns = [column for column in results.c if column.name not in {"batch_id", "idx", "round", "fence"}]
    human = standing(batch_id)
    return (
        select(
            *(items.c.idx, items.c.item_id, items.c.origin, items.c.state, items.c.payload),
            *(batches.c.operation, exclusions.c.exclusion, results.c.fence, said().label("said"), *columns),
            exclusion_reason(batch_id).label("excluded_because"),
            *(human.c.value.label("human"), human.c.note, human.c.reviewer, human.c.created_at.label("said_at")),
        )
        .join(batches, batches.c.id == items.c.batch_id)
        .outerjoin(exclusions, (exclusions.c.batch_id == items.c.batch_id) & (exclusions.c.idx == items.c.idx))
        .outerjoin(results, (results.c.batch_id == items.c.batch_id) & (results.c.idx == items.c.idx))
        .outerjoin(human, human.c.idx == items.c.idx)
        .where(items.c.batch_id == batch_id)
        .order_by(items.c.idx)
    )


def read_item_ids(connection: Connection, batch_id: UUID) -> list[str]:
    """The ids of a batch's items, in their order."""
    statement = select(items.c.item_id).where(items.c.batch_id == batch_id).order_by(items.c.idx)
    return list(connection.execute(statement).scalars())


def _item_result(batch_id: UUID, row: Any) -> ItemResult:
    human = None if row.reviewer is None else override_of(batch_id, row)
    if row.fence is None:
        exclusion = None if row.exclusion is None else Exclusion.model_validate(row.exclusion)
        return ItemResult(
            index=row.idx,
            item_id=row.item_id,
            origin=row.origin,
            status=row.state,
            item=row.payload,
            exclusion=exclusion,
            override=human,
        )
    inclusion = row.operation == operation_name(Inclusion)
    ended = row.state in _ENDED
    return ItemResult(
        index=row.idx,
        item_id=row.item_id,
        origin=row.origin,
        status=row.state,
        item=row.payload,
        result=_result(row) if ended else None,
        decision=_decision(row) if inclusion and row.detail else None,
        detail=None if inclusion else row.detail,
        evaluations=evaluations_of(row.said, list(row.value) if isinstance(row.value, dict) else ()) if ended else [],
        error_kind=None if row.error_kind is None or not ended else ErrorKind(row.error_kind),
        cut=(row.cut or {}) if ended else {},
        provenance=Provenance(
            model=row.model,
            prompt_sha256=row.prompt_sha256,
            usage=Usage(
                row.prompt_tokens,
                row.completion_tokens,
                row.cached_tokens,
                row.reasoning_tokens,
                row.cache_write_tokens,
            ),
            cost=row.cost,
            tier=row.tier,
            calls=row.calls,
            unanswered=row.unanswered,
            cached=row.cached,
            latency_ms=row.latency_ms,
            deviations=tuple(row.deviations or ()),
        ),
        override=human,
    )


def _decision(row: Row[Any]) -> InclusionDecision:
    decision = InclusionDecision.model_validate(row.detail)
    return decision.model_copy(update={"exclusion_reason": row.excluded_because})


def _result(row: Row[Any]) -> EvaluationResult | FieldsResult:
    shared = {"confidence": row.confidence or 0.0, "reasoning": row.reasoning, "error": row.error}
    if row.operation == operation_name(ExtractFields):
        return FieldsResult(fields=row.value, **shared)
    return EvaluationResult(value=row.value, **shared)


def read_summary(connection: Connection, batch_id: UUID, round_: int | None = None) -> Summary | None:
    """The summary of a batch's round, or of its latest finished one; None where there is none."""
    statement = select(summaries.c.summary).where(summaries.c.batch_id == batch_id)
    if round_ is not None:
        statement = statement.where(summaries.c.round == round_)
    stored = connection.execute(statement.order_by(summaries.c.round.desc()).limit(1)).scalar_one_or_none()
    return None if stored is None else Summary.model_validate(stored)


def read_summaries(connection: Connection, batch_id: UUID) -> list[Summary]:
    """The summaries of a batch's finished rounds, the first one first."""
    statement = select(summaries.c.summary).where(summaries.c.batch_id == batch_id).order_by(summaries.c.round)
    return [Summary.model_validate(stored) for stored in connection.execute(statement).scalars()]
