"""A new batch, written as a whole."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, and_, func, insert, literal_column, select

from tamis_schemas import (
    IdempotencyConflict,
    ItemStatus,
    dollars,
)
from tamis_schemas.ledger import batches, shards, spending

from ..new_batch import NewBatch
from .allowance import admitted


def insert_batch(connection: Connection, batch: NewBatch) -> UUID:
    """Write a batch, its shards and its items; the id, or that of the batch that used the same key before.

    Runs in the caller's transaction: either all of it is there afterwards or none.

    Raises:
        IdempotencyConflict: the key was used for other content.
        NotAllowed: the key of the gateway that it is submitted with does not allow it.
    """
    if batch.idempotency_key is not None:
        owner = batch.api_key_id or ""
        # Two submits of one key at once: the second waits here until the first is committed.
        lock = func.pg_advisory_xact_lock(func.hashtext(f"{owner}:{batch.idempotency_key}"))
        connection.execute(select(lock))
        wanted = select(batches.c.id, batches.c.content_sha256, batches.c.max_cost)
        same = and_(
            func.coalesce(batches.c.api_key_id, literal_column("''")) == owner,
            batches.c.idempotency_key == batch.idempotency_key,
        )
        earlier = connection.execute(wanted.where(same)).first()
        if earlier is not None:
            if earlier.content_sha256 != batch.content_sha256:
                raise IdempotencyConflict(
                    f"idempotency key {batch.idempotency_key!r} belongs to batch {earlier.id}, "
                    "which has another operation, model, steering or other items: use another key; "
                    f"`tamis status {earlier.id}` shows that batch"
                )
            check_budget(f"batch {earlier.id}", has=earlier.max_cost, asked=batch.max_cost)
            return UUID(str(earlier.id))
    batch = admitted(connection, batch)
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
            steering=batch.steering.said or None,
            priority=batch.priority.value,
            max_cost=batch.max_cost,
            source=None if batch.source is None else batch.source.model_dump(mode="json"),
            review_id=None if batch.stage is None else batch.stage.review_id,
            stage=None if batch.stage is None else batch.stage.number,
            traceparent=batch.traceparent,
            api_key_id=batch.api_key_id,
            service=batch.service,
            callback=None if batch.callback is None else batch.callback.model_dump(mode="json"),
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
