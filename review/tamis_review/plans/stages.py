"""The stages of a review in the ledger. Submission begins the first stage, and each completed stage begins the next.

Each stage begins exactly once.
"""

from dataclasses import dataclass, replace
from hashlib import sha256
from uuid import UUID, uuid4

from sqlalchemy import Connection, Engine, func, select, update
from sqlalchemy.dialects.postgresql import insert

from tamis_producer.ledger import check_budget, insert_batch, ledger_errors, stream_results
from tamis_producer.ledger.allowance import check_plan
from tamis_producer.submission.new_batch import NewBatch, NewItem, Stage, parameters
from tamis_producer.submission.spool import Spool
from tamis_schemas import BatchStatus, Callback, ItemResult, Judge, Priority, ReviewPlan
from tamis_schemas.batches.review_plan import ReviewStage
from tamis_schemas.ledger import batches, reviews
from tamis_schemas.values.unstorable import to_json

from .judge_items import judge_item


@dataclass(frozen=True)
class Begun:
    """A review with the batch of its first stage."""

    review_id: UUID
    batch_id: UUID


def begin(connection: Connection, plan: ReviewPlan, first: NewBatch, *, label: str, again: bool = False) -> Begun:
    """Write a review and its first stage, or return the existing review of the same plan and records.

    The function runs in the caller's transaction. `first`: the batch of the first stage. `again`: always begin a new
    review.

    Raises:
        IdempotencyConflict: a stage of the existing review may cost more than this plan allows.
        NotAllowed: the submitter's gateway key does not allow a stage.
    """
    content = sha256(f"{to_json(plan.content)}\n{first.content_sha256}".encode())
    if again:
        content.update(uuid4().bytes)
    # If two callers begin the same review, the second waits here for the first commit.
    made = connection.execute(
        insert(reviews)
        .values(id=uuid4(), content_sha256=content.hexdigest(), label=label, plan=plan.model_dump(mode="json"))
        .on_conflict_do_nothing(index_elements=[reviews.c.content_sha256])
        .returning(reviews.c.id)
    ).scalar_one_or_none()
    if made is None:
        there = (
            select(batches.c.review_id, batches.c.id, reviews.c.plan)
            .join(reviews, reviews.c.id == batches.c.review_id)
            .where(reviews.c.content_sha256 == content.hexdigest(), batches.c.stage == 0)
        )
        review = connection.execute(there).one()
        for before, now in zip(ReviewPlan.model_validate(review.plan).stages, plan.stages, strict=True):
            check_budget(f"the review's stage {now.name}", has=before.max_cost, asked=now.max_cost)
        return Begun(review.review_id, review.id)
    check_plan(connection, first.api_key_id, plan)
    return Begun(made, insert_batch(connection, replace(first, stage=Stage(made, 0))))


def advance(engine: Engine, batch_id: UUID) -> UUID | None:
    """Begin the stage after this batch, in a new transaction, and return the id of the stage's batch.

    Return None if the batch is not completed, or if no stage follows it. May raise `LedgerUnavailable`.
    """
    with ledger_errors(), engine.begin() as connection:
        return begin_next(connection, batch_id)


def begin_next(connection: Connection, batch_id: UUID) -> UUID | None:
    """Return the id of the next stage's batch. If there is none, begin it with the records that passed this batch.

    Return None if the batch belongs to no review, or is not completed. Also return None if the batch is the last stage,
    or if no record passed. In these two cases, mark the review as finished. Repeated and concurrent calls begin a
    single batch. The function runs in the caller's transaction.
    """
    of_batch = (
        select(batches, reviews.c.plan, reviews.c.label.label("review"), reviews.c.finished_at.label("ended"))
        .join(reviews, reviews.c.id == batches.c.review_id)
        .where(batches.c.id == batch_id)
        .with_for_update(of=reviews)
    )
    done = connection.execute(of_batch).one_or_none()
    if done is None or done.ended is not None:
        return None
    # Read again under the lock: a retry round may have begun during the wait.
    state = connection.execute(select(batches.c.state).where(batches.c.id == batch_id)).scalar_one()
    if state != BatchStatus.COMPLETED:
        return None
    place = Stage(done.review_id, done.stage + 1)
    following = select(batches.c.id).where(batches.c.review_id == place.review_id, batches.c.stage == place.number)
    if (begun := connection.execute(following).scalar_one_or_none()) is not None:
        return UUID(str(begun))
    plan = ReviewPlan.model_validate(done.plan)
    rows = _passed(connection, plan, batch_id, place.number)
    if not len(rows):
        connection.execute(update(reviews).where(reviews.c.id == place.review_id).values(finished_at=func.now()))
        return None
    stage = plan.stages[place.number]
    params = parameters(stage.operation)
    return insert_batch(
        connection,
        NewBatch(
            operation=params["operation"],
            params=params,
            model=stage.asked_of,
            items=rows,
            shard_size=done.shard_size,
            window=done.window_size,
            label=f"{done.review}: {stage.name}",
            use_cache=done.use_cache,
            priority=Priority(done.priority),
            max_cost=stage.max_cost,
            steering=stage.steering,
            stage=place,
            traceparent=done.traceparent,  # a review is one trace
            api_key_id=done.api_key_id,
            callback=None if done.callback is None else Callback.model_validate(done.callback),
        ),
    )


def _passed(connection: Connection, plan: ReviewPlan, batch_id: UUID, number: int) -> Spool[NewItem]:
    """Return the items of the stage `number`, from the records that passed the previous stage."""
    passed = Spool[NewItem]()
    if number < len(plan.stages):
        before, stage = plan.stages[number - 1], plan.stages[number]
        for row in stream_results(connection, batch_id):
            if before.lets_pass(row) and (item := _item(stage, row)) is not None:
                passed.append(item, len(item.payload))
    return passed


def _item(stage: ReviewStage, row: ItemResult) -> NewItem | None:
    payload = judge_item(row) if isinstance(stage.operation, Judge) else row.item
    return None if payload is None else NewItem.of(payload, origin=row.index if row.origin is None else row.origin)
