"""The producer's side of the ledger: write a batch, read how it stands, stream what came out.

The one seam to SQLAlchemy and psycopg on this floor: what they raise comes out as `LedgerUnavailable` or
`ConfigurationError`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import UUID

import psycopg
from sqlalchemy import Connection, Engine, Row, Table, create_engine, func, insert, select
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from tamis_schemas import (
    BatchStatus,
    ConfigurationError,
    Counts,
    ErrorKind,
    EvaluationResult,
    Exclusion,
    ExtractFields,
    FieldsResult,
    IdempotencyConflict,
    Inclusion,
    InclusionDecision,
    InvalidRequest,
    ItemResult,
    ItemStatus,
    Pause,
    Priority,
    Provenance,
    ReviewPlan,
    Summary,
    UnknownBatch,
    Usage,
    dollars,
)
from tamis_schemas.ledger import batches, exclusions, items, results, reviews, shards, spending, summaries, workers
from tamis_schemas.ledger.costs import PAID, UNPRICED
from tamis_schemas.ledger.outages import outage
from tamis_schemas.operations import operation_name

from .new_batch import NewBatch
from .view import BatchView, Budget, ReviewView
from .worker_view import NotWorking, WorkerState

STREAM_ROWS = 500  # fetched at once when results are streamed
_ENDED = (ItemStatus.DECIDED, ItemStatus.FAILED)  # of the others, what stands in `results` is of an earlier round
UNDEFINED_TABLE = "42P01"
# A server whose machine or network is gone says nothing: without these, a statement waits for hours. (ms and s)
NOTICE_A_LOST_NETWORK: Mapping[str, Any] = MappingProxyType(
    {
        "connect_timeout": 5,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 4,
        "tcp_user_timeout": 30_000,
    }
)


@dataclass(frozen=True)
class Found:
    """What an id is the id of: one of the two is set."""

    batch_id: UUID | None
    review_id: UUID | None


def connect(database_url: str, *, idle_within: int | None = None) -> Engine:
    """An engine for the ledger; connects on first use. Raises `ConfigurationError` where the URL is none.

    `idle_within`: seconds between two statements of a transaction, after which the server ends it, so that a process
    that is stopped in the middle of one does not keep its locks. None: no bound, for readers take their time.
    """
    options = {} if idle_within is None else {"options": f"-c idle_in_transaction_session_timeout={idle_within}s"}
    try:
        return create_engine(database_url, pool_pre_ping=True, connect_args={**NOTICE_A_LOST_NETWORK, **options})
    except (ArgumentError, NoSuchModuleError) as error:
        raise ConfigurationError(
            "TAMIS_DATABASE_URL cannot be used: it looks like postgresql+psycopg://user:password@host:5432/tamis"
        ) from error


@contextmanager
def ledger_errors() -> Iterator[None]:
    """The seam: database errors become Tamis's own, without statements or passwords in them."""
    try:
        yield
    except (SQLAlchemyError, psycopg.Error, OSError) as error:
        if (away := outage(error)) is not None:
            raise away from error
        if isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) == UNDEFINED_TABLE:
            raise ConfigurationError("the ledger has no tables yet: run `tamis migrate`") from error
        raise


def insert_batch(connection: Connection, batch: NewBatch) -> UUID:
    """Write a batch, its shards and its items; the id, or that of the batch that used the same key before.

    Runs in the caller's transaction: either all of it is there afterwards or none.

    Raises:
        IdempotencyConflict: the key was used for other content.
    """
    if batch.idempotency_key is not None:
        # Two submits of one key at once: the second waits here until the first is committed.
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(batch.idempotency_key))))
        wanted = select(batches.c.id, batches.c.content_sha256, batches.c.max_cost)
        earlier = connection.execute(wanted.where(batches.c.idempotency_key == batch.idempotency_key)).first()
        if earlier is not None:
            if earlier.content_sha256 != batch.content_sha256:
                raise IdempotencyConflict(
                    f"idempotency key {batch.idempotency_key!r} belongs to batch {earlier.id}, "
                    "which has another operation, model or other items"
                )
            check_budget(f"batch {earlier.id}", has=earlier.max_cost, asked=batch.max_cost)
            return UUID(str(earlier.id))
    connection.execute(
        insert(batches).values(
            id=batch.id,
            idempotency_key=batch.idempotency_key,
            content_sha256=batch.content_sha256,
            label=batch.label,
            operation=batch.operation,
            params=batch.params,
            model=batch.model,
            n_items=len(batch.items),
            shard_size=batch.shard_size,
            window_size=batch.window,
            use_cache=batch.use_cache,
            priority=batch.priority.value,
            max_cost=batch.max_cost,
            source=None if batch.source is None else batch.source.model_dump(mode="json"),
            review_id=None if batch.stage is None else batch.stage.review_id,
            stage=None if batch.stage is None else batch.stage.number,
        )
    )
    if batch.max_cost is not None:
        connection.execute(insert(spending).values(batch_id=batch.id))
    connection.execute(insert(shards), _shard_rows(batch))
    _copy_items(connection, batch)
    return batch.id


def check_budget(what: str, *, has: Decimal | None, asked: Decimal | None) -> None:
    """Nothing where what is there already may spend no more than is asked for now.

    Raises:
        IdempotencyConflict: it may spend more: whoever names a budget now would rely on one that does not hold.
    """
    if asked is not None and (has is None or has > asked):
        budget = "no budget" if has is None else f"a budget of {dollars(has)}"
        raise IdempotencyConflict(
            f"{what} is there already, with {budget} instead of {dollars(asked)}: leave the budget out to go on with "
            "it as it is, or submit it anew"
        )


def _shard_rows(batch: NewBatch) -> list[dict[str, Any]]:
    n = len(batch.items)
    return [
        {
            "batch_id": batch.id,
            "round": 1,
            "shard": shard,
            "first_idx": first,
            "end_idx": min(first + batch.shard_size, n),
        }
        for shard, first in enumerate(range(0, n, batch.shard_size))
    ]


def _copy_items(connection: Connection, batch: NewBatch) -> None:
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101 - an open SQLAlchemy connection has one
    batch_id = str(batch.id)
    with (
        driver.cursor() as cursor,
        cursor.copy("COPY items (batch_id, idx, item_id, payload, state, origin) FROM STDIN") as copy,
    ):
        for index, item in enumerate(batch.items):
            state = ItemStatus.PENDING if item.exclusion is None else ItemStatus.EXCLUDED_BY_FILTER
            copy.write_row((batch_id, index, item.item_id, item.payload, state.value, item.origin))
    excluded = [(index, item.exclusion) for index, item in enumerate(batch.items) if item.exclusion is not None]
    with (
        driver.cursor() as cursor,
        cursor.copy("COPY exclusions (batch_id, idx, rule, exclusion) FROM STDIN") as copy,
    ):
        for index, exclusion in excluded:
            copy.write_row((batch_id, index, exclusion.rule, exclusion.model_dump_json()))


def find_batch(connection: Connection, prefix: str) -> UUID:
    """The batch whose id is, or begins with, `prefix`. Raises `UnknownBatch` for none, `InvalidRequest` for several."""
    if (found := _find(connection, batches, prefix, "batch")) is None:
        raise UnknownBatch(f"there is no batch {prefix!r}: `tamis batches` lists them")
    return found


def find_review(connection: Connection, prefix: str) -> UUID:
    """The review whose id is, or begins with, `prefix`; raises as `find_batch` does."""
    if (found := _find(connection, reviews, prefix, "review")) is None:
        raise UnknownBatch(f"there is no review {prefix!r}: `tamis review list` lists them")
    return found


def find_either(connection: Connection, prefix: str) -> Found:
    """The review or the batch whose id is, or begins with, `prefix`; raises as `find_batch` does."""
    review = _find(connection, reviews, prefix, "batch or review")
    batch = _find(connection, batches, prefix, "batch or review")
    if review is not None and batch is not None:
        raise InvalidRequest(f"a review and a batch begin with {prefix!r}: give more of the id")
    if review is None and batch is None:
        raise UnknownBatch(f"there is no batch or review {prefix!r}: `tamis batches` and `tamis review list` list them")
    return Found(batch_id=batch, review_id=review)


def _find(connection: Connection, table: Table, prefix: str, noun: str) -> UUID | None:
    wanted = prefix.strip().lower()
    if not wanted or any(character not in "0123456789abcdef-" for character in wanted):
        listing = "review list" if noun == "review" else "batches"
        raise UnknownBatch(f"{prefix!r} is no {noun} id: `tamis {listing}` lists them")
    text_id = func.cast(table.c.id, type_=items.c.item_id.type)
    found = connection.execute(select(table.c.id).where(text_id.startswith(wanted)).limit(2)).scalars().all()
    if len(found) > 1:
        raise InvalidRequest(f"several {table.name} begin with {prefix!r}: give more of the id")
    return UUID(str(found[0])) if found else None


def read_reviews(connection: Connection, *, review_id: UUID | None = None, limit: int = 20) -> list[ReviewView]:
    """How reviews stand, newest first: the one asked for, or the last `limit`."""
    wanted = select(reviews).order_by(reviews.c.created_at.desc()).limit(limit)
    if review_id is not None:
        wanted = select(reviews).where(reviews.c.id == review_id)
    return [
        ReviewView(
            id=str(row.id),
            label=row.label,
            created_at=row.created_at,
            finished_at=row.finished_at,
            planned=tuple(stage.name for stage in ReviewPlan.model_validate(row.plan).stages),
            stages=tuple(sorted(read_views(connection, review_id=row.id), key=lambda view: view.stage or 0)),
        )
        for row in connection.execute(wanted).all()
    ]


def read_views(
    connection: Connection, *, batch_id: UUID | None = None, review_id: UUID | None = None, limit: int = 20
) -> list[BatchView]:
    """How batches stand, newest first: the one asked for, those of a review, or the last `limit`."""
    wanted = select(batches).order_by(batches.c.created_at.desc()).limit(limit)
    if batch_id is not None:
        wanted = select(batches).where(batches.c.id == batch_id)
    elif review_id is not None:
        wanted = select(batches).where(batches.c.review_id == review_id)
    b = wanted.subquery("b")
    # One statement, so that all of it is one snapshot and the accounting identity holds in every read.
    counted = (
        select(items.c.batch_id, items.c.state, func.count().label("n"))
        .where(items.c.batch_id.in_(select(b.c.id)))
        .group_by(items.c.batch_id, items.c.state)
        .subquery("counted")
    )
    tokens = (
        select(
            results.c.batch_id,
            func.sum(results.c.prompt_tokens).label("prompt"),
            func.sum(results.c.completion_tokens).label("completion"),
            PAID.label("cost"),
            UNPRICED.label("unpriced"),
            func.count().filter(results.c.round == b.c.round).label("in_round"),
        )
        .join(b, b.c.id == results.c.batch_id)
        .group_by(results.c.batch_id)
        .subquery("tokens")
    )
    by_state = (
        select(counted.c.batch_id, func.jsonb_object_agg(counted.c.state, counted.c.n).label("counts"))
        .group_by(counted.c.batch_id)
        .subquery("by_state")
    )
    live = select(func.count()).where(workers.c.lease_until > func.now()).scalar_subquery()
    holding = (
        select(
            func.jsonb_agg(
                func.jsonb_build_object(
                    *("state", workers.c.state, "reason", workers.c.reason),
                    *("seconds", func.coalesce(func.extract("epoch", func.now() - workers.c.state_since), 0)),
                )
            )
        )
        .where(workers.c.lease_until > func.now(), workers.c.state != WorkerState.WORKING.value)
        .scalar_subquery()
    )
    statement = (
        select(
            b,
            by_state.c.counts,
            tokens.c.prompt,
            tokens.c.completion,
            tokens.c.cost,
            tokens.c.unpriced,
            tokens.c.in_round,
            spending.c.reserved,
            spending.c.spent,
            live.label("live_workers"),
            holding.label("not_working"),
            func.extract("epoch", func.coalesce(b.c.finished_at, func.now()) - b.c.started_at).label("elapsed"),
        )
        .outerjoin(by_state, by_state.c.batch_id == b.c.id)
        .outerjoin(tokens, tokens.c.batch_id == b.c.id)
        .outerjoin(spending, spending.c.batch_id == b.c.id)
        .order_by(b.c.created_at.desc())
    )
    return [_view(row) for row in connection.execute(statement)]


def _view(row: Row[Any]) -> BatchView:
    counts = dict.fromkeys((status.value for status in ItemStatus), 0) | (row.counts or {})
    return BatchView(
        id=str(row.id),
        label=row.label,
        operation=row.operation,
        model=row.model,
        state=BatchStatus(row.state),
        round=row.round,
        counts=Counts(n_items=row.n_items, **counts),
        prompt_tokens=row.prompt or 0,
        completion_tokens=row.completion or 0,
        cost=row.cost or Decimal(0),
        unpriced=row.unpriced or 0,
        budget=None if row.max_cost is None else Budget(max_cost=row.max_cost, spent=row.spent, reserved=row.reserved),
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        elapsed_seconds=None if row.elapsed is None else float(row.elapsed),
        live_workers=row.live_workers,
        not_working=tuple(NotWorking.model_validate(one) for one in row.not_working or ()),
        stage=row.stage,
        pause=None if row.pause is None else Pause.model_validate(row.pause),
        priority=Priority(row.priority),
        ended_in_round=row.in_round or 0,
    )


def stream_results(connection: Connection, batch_id: UUID) -> Iterator[ItemResult]:
    """Every item of a batch in item order, with its result where it has one; fetched in portions.

    An item that is asked about again has none until it ends anew; its provenance is what was paid for it before.
    """
    columns = [column for column in results.c if column.name not in {"batch_id", "idx", "round", "fence"}]
    statement = (
        select(
            *(items.c.idx, items.c.item_id, items.c.origin, items.c.state, items.c.payload),
            *(batches.c.operation, exclusions.c.exclusion, results.c.fence, *columns),
        )
        .join(batches, batches.c.id == items.c.batch_id)
        .outerjoin(exclusions, (exclusions.c.batch_id == items.c.batch_id) & (exclusions.c.idx == items.c.idx))
        .outerjoin(results, (results.c.batch_id == items.c.batch_id) & (results.c.idx == items.c.idx))
        .where(items.c.batch_id == batch_id)
        .order_by(items.c.idx)
        .execution_options(yield_per=STREAM_ROWS)
    )
    with connection.execute(statement) as rows:  # a reader who stops early closes the cursor too
        for row in rows:
            yield _item_result(row)


def _item_result(row: Row[Any]) -> ItemResult:
    if row.fence is None:
        exclusion = None if row.exclusion is None else Exclusion.model_validate(row.exclusion)
        return ItemResult(
            index=row.idx,
            item_id=row.item_id,
            origin=row.origin,
            status=row.state,
            item=row.payload,
            exclusion=exclusion,
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
        decision=InclusionDecision.model_validate(row.detail) if inclusion and row.detail else None,
        detail=None if inclusion else row.detail,
        error_kind=None if row.error_kind is None or not ended else ErrorKind(row.error_kind),
        cut=(row.cut or {}) if ended else {},
        provenance=Provenance(
            model=row.model,
            prompt_sha256=row.prompt_sha256,
            usage=Usage(row.prompt_tokens, row.completion_tokens, row.cached_tokens, row.reasoning_tokens),
            cost=row.cost,
            calls=row.calls,
            cached=row.cached,
            latency_ms=row.latency_ms,
        ),
    )


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
