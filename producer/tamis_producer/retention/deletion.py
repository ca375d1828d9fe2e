"""Deletion: a batch is marked first, which hides the whole batch. Then its rows are deleted in slices.

Each slice has its own transaction. If a purge is killed, the next purge deletes the rest of the marked batch. Cached
answers belong to no batch, and are deleted by age.
"""

from datetime import timedelta
from uuid import UUID

from sqlalchemy import Connection, Engine, delete, exists, func, null, select, update

from tamis_schemas import UnknownBatch
from tamis_schemas.ledger import batches, llm_cache, reviews

from ..ledger import ledger_errors
from ..ledger.overrides import one_at_a_time
from .holdings import loose_tables, sliced_tables
from .subjects import Subject, find_again

SLICE = 2_000  # places of a batch; their rows are locked and deleted in less than a second
PURGE_LOCK = 7_264_951  # a Postgres advisory lock: a second purge waits for the first
ROWS = 2_000  # of the cache, in one transaction


def lock(connection: Connection, subject: Subject) -> Subject | None:
    """Lock the subject (a batch or a review) until the end of this transaction, and return its present state.

    Return None if the subject may not be purged. The lock makes people's decisions and retries wait.
    """
    try:
        for batch_id in sorted(subject.batch_ids):
            one_at_a_time(connection, batch_id)
    except UnknownBatch:  # another purge was quicker
        return None
    if subject.review_id is not None:  # first, in the same order as the beginning of the next stage
        connection.execute(select(reviews.c.id).where(reviews.c.id == subject.review_id).with_for_update())
    connection.execute(select(batches.c.id).where(batches.c.id.in_(subject.batch_ids)).with_for_update())
    return find_again(connection, subject)


def mark(connection: Connection, subject: Subject) -> None:
    """Mark the subject (a batch or a review) as purged, which hides it.

    Call this function in the transaction that has locked the subject.

    Afterwards a new batch may use the subject's idempotency keys, and a new review may have the same content.
    """
    marked = update(batches).where(batches.c.id.in_(subject.batch_ids))
    connection.execute(marked.values(purging_at=func.now(), idempotency_key=null()))
    if subject.review_id is not None:
        of_review = update(reviews).where(reviews.c.id == subject.review_id)
        connection.execute(of_review.values(purging_at=func.now(), content_sha256=f"purged {subject.review_id}"))


def delete_slice(connection: Connection, *, places: int = SLICE) -> int | None:
    """Delete the next slice of the batches marked as purged, in the caller's transaction. Return its number of items.

    Return 0 after the last rows of a batch, and None if no marked batch is left.
    """
    connection.execute(select(func.pg_advisory_xact_lock(PURGE_LOCK)))
    marked = select(batches.c.id).where(batches.c.purging_at.is_not(None)).order_by(batches.c.purging_at, batches.c.id)
    batch_id = connection.execute(marked.limit(1)).scalar_one_or_none()
    if batch_id is None:
        return None
    first = _first_place(connection, batch_id)
    if first is None:
        _delete_batch(connection, batch_id)
        return 0
    end, deleted = first + places, 0
    for table in sliced_tables():
        of_slice = delete(table).where(table.c.batch_id == batch_id, table.c.idx >= first, table.c.idx < end)
        deleted = max(deleted, connection.execute(of_slice).rowcount)
    return deleted


def _first_place(connection: Connection, batch_id: UUID) -> int | None:
    places = (
        connection.execute(select(func.min(table.c.idx)).where(table.c.batch_id == batch_id)).scalar_one()
        for table in sliced_tables()
    )
    return min((place for place in places if place is not None), default=None)


def _delete_batch(connection: Connection, batch_id: UUID) -> None:
    """Delete the remaining rows of a batch without items. After the last batch of a review, delete the review too."""
    for table in loose_tables():
        connection.execute(delete(table).where(table.c.batch_id == batch_id))
    review_id = connection.execute(
        delete(batches).where(batches.c.id == batch_id).returning(batches.c.review_id)
    ).scalar_one()
    if review_id is not None:
        rest = exists().where(batches.c.review_id == review_id)
        connection.execute(delete(reviews).where(reviews.c.id == review_id, ~rest))


def prune_answers(connection: Connection, age: timedelta) -> int:
    """Delete up to 2,000 cached answers older than `age`, oldest first. Return their number; 0: none is left."""
    of = llm_cache.c
    old = select(of.key).where(of.created_at < func.now() - age).order_by(of.created_at).limit(ROWS)
    return connection.execute(delete(llm_cache).where(of.key.in_(old.with_for_update(skip_locked=True)))).rowcount


def prune_all_answers(engine: Engine, age: timedelta) -> int:
    """Delete all cached answers older than `age`, in slices; return their number. May raise `LedgerUnavailable`."""
    total = 0
    while True:
        with ledger_errors(), engine.begin() as connection:
            deleted = prune_answers(connection, age)
        if deleted == 0:
            return total
        total += deleted
