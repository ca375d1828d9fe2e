"""Batches in every state, written into a ledger as they would stand there; no worker, no broker, no model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Connection, func, insert, null, update

from tamis_producer import Batch, Client
from tamis_schemas import (
    Exclusion,
    Inclusion,
    InclusionDecision,
    ItemStatus,
    Operation,
    ReviewPlan,
    SearchCriteria,
    Source,
    resolve_item_id,
)
from tamis_schemas.batches.review_plan import ReviewStage
from tamis_schemas.ledger import batches, exclusions, items, payloads, results, reviews
from tamis_schemas.ledger.verdicts import verdict_columns

CRITERIA = SearchCriteria(
    research_question="Does supervised exercise at home improve walking after a hip replacement?",
    inclusion_criteria=["Adults after a total hip replacement", "A randomised controlled trial"],
    exclusion_criteria=["Animal studies"],
)
SCREENING = Inclusion(criteria=CRITERIA)
SOURCE = Source(file="citations.ris", format="RIS", encoding="utf-8", sha256="5f" * 32, initial_filter=True)


@dataclass(frozen=True)
class Ledgered:
    """One item with what the ledger says of it."""

    item: dict[str, Any]
    state: ItemStatus = ItemStatus.DECIDED
    value: Any = None
    detail: dict[str, Any] | None = None
    confidence: float | None = None
    reasoning: str | None = None
    error_kind: str | None = None
    error: str | None = None
    exclusion: Exclusion | None = None
    origin: int | None = None
    tokens: tuple[int, int] = (900, 120)
    cached: bool = False
    model: str = "double-1"
    cut: dict[str, list[int]] | None = None  # fields that were not sent whole: characters sent, of
    source: int | None = None  # place among the batch's sources
    probability: float | None = None  # of inclusion, from the tokens of the answer
    relevance: int | None = None  # as the model graded it


def decided(item: dict[str, Any], decision: InclusionDecision, **more: Any) -> Ledgered:
    """An item with an inclusion's decision."""
    return Ledgered(
        item,
        value=decision.status.value,
        detail=decision.model_dump(mode="json"),
        confidence=decision.confidence,
        reasoning=decision.rationale,
        **more,
    )


def failed(item: dict[str, Any], kind: str, error: str = "it went wrong") -> Ledgered:
    """An item that ended with an error."""
    return Ledgered(item, ItemStatus.FAILED, error_kind=kind, error=error)


def kept_out(item: dict[str, Any], exclusion: Exclusion) -> Ledgered:
    """An item that no model was asked about."""
    return Ledgered(item, ItemStatus.EXCLUDED_BY_FILTER, exclusion=exclusion)


@dataclass(frozen=True)
class Place:
    """A batch's place in a review."""

    review_id: UUID
    stage: int


def write_review(connection: Connection, label: str, *stages: Operation | ReviewStage, finished: bool = False) -> UUID:
    """A review with a plan of these stages, or of these operations alone, and no batch yet."""
    review_id = uuid4()
    plan = ReviewPlan(
        stages=tuple(one if isinstance(one, ReviewStage) else ReviewStage(operation=one) for one in stages)
    )
    connection.execute(
        insert(reviews).values(
            id=review_id,
            content_sha256=uuid4().hex,
            label=label,
            plan=plan.model_dump(mode="json"),
            finished_at=func.now() if finished else None,
        )
    )
    return review_id


def write_batch(
    connection: Connection,
    rows: Iterable[Ledgered],
    *,
    operation: Operation = SCREENING,
    state: str = "completed",
    label: str | None = "citations.ris",
    model: str = "double",
    source: Source | Sequence[Source] | None = SOURCE,
    place: Place | None = None,
) -> UUID:
    """A batch with these items; its id."""
    batch_id, written = uuid4(), list(rows)
    sources = [source] if isinstance(source, Source) else source or ()
    connection.execute(
        insert(batches).values(
            id=batch_id,
            content_sha256="0" * 64,
            label=label,
            operation=operation.operation,
            **verdict_columns(type(operation)),
            params=operation.model_dump(mode="json"),
            model=model,
            state=state,
            n_items=len(written),
            shard_size=500,
            window_size=2,
            source=[source.model_dump(mode="json") for source in sources] or None,
            review_id=None if place is None else place.review_id,
            stage=None if place is None else place.stage,
        )
    )
    tables = _Rows.of(batch_id, written)
    filled = (
        (payloads, tables.payloads),
        (items, tables.items),
        (exclusions, tables.exclusions),
        (results, tables.decided),
        (results, tables.failed),
    )
    for table, values in filled:
        if values:
            connection.execute(insert(table), values)
    return batch_id


def written_batch(client: Client, rows: Iterable[Ledgered], **batch: Any) -> Batch:
    """The same as its submitter holds it, in the ledger of this client; `batch` as of `write_batch`."""
    with client.engine.begin() as connection:
        batch_id = write_batch(connection, rows, **batch)
    return client.batch(str(batch_id))


def answer(client: Client, batch_id: str, index: int, row: Ledgered) -> None:
    """Let a failed or waiting record be asked again, and be answered as in `row`."""
    key = {"batch_id": UUID(batch_id), "idx": index}
    with client.engine.begin() as connection:
        for state in ("pending", "running", "decided"):
            of_item = (items.c.batch_id == key["batch_id"]) & (items.c.idx == index)
            connection.execute(update(items).where(of_item, items.c.state != state).values(state=state))
        connection.execute(results.delete().where(results.c.batch_id == key["batch_id"], results.c.idx == index))
        values = _result(index, row) | {"fence": 2, "round": 2, "value": row.value, "detail": row.detail}
        connection.execute(insert(results).values(**key, **values))


@dataclass
class _Rows:
    payloads: list[dict[str, Any]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    exclusions: list[dict[str, Any]] = field(default_factory=list)
    decided: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)  # without `value`, which must be NULL, not JSON's null

    @classmethod
    def of(cls, batch_id: UUID, written: Sequence[Ledgered]) -> "_Rows":
        rows = cls()
        for idx, one in enumerate(written):
            key = {"batch_id": batch_id, "idx": idx}
            rows.payloads.append(key | {"payload": one.item, "origin": one.origin, "source": one.source})
            rows.items.append(key | {"item_id": resolve_item_id(one.item), "state": one.state.value})
            if one.exclusion is not None:
                given = one.exclusion.model_dump(mode="json")
                rows.exclusions.append(key | {"rule": one.exclusion.rule, "exclusion": given})
            if one.state is ItemStatus.DECIDED:
                rows.decided.append(key | _result(idx, one) | {"value": one.value, "detail": one.detail})
            if one.state is ItemStatus.FAILED:
                rows.failed.append(key | _result(idx, one))
        return rows


def _result(idx: int, one: Ledgered) -> dict[str, Any]:
    return {
        "fence": 1,
        "round": 1,
        "confidence": one.confidence,
        "reasoning": one.reasoning,
        "error_kind": one.error_kind,
        "error": one.error,
        "model": one.model,
        "prompt_sha256": f"{idx:064x}",
        "prompt_tokens": one.tokens[0],
        "completion_tokens": one.tokens[1],
        "calls": 0 if one.cached else 1,
        "cached": one.cached,
        "latency_ms": 800,
        "cut": null() if one.cut is None else one.cut,
        "probability": one.probability,
        "relevance": one.relevance,
    }
