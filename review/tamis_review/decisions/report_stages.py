"""The stages of a review that people go through alone: which reports are sought, and which full texts are assessed.

Both are decided about on the items of the last screening batch of a review, and of those alone that passed it in the
end: by what people decided where they did, else by the model. Decisions of these stages on any other record say
nothing that a figure could count, so they are refused, and so is a later exclusion of a record that has one.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Connection, Integer, any_, literal, select

from tamis_producer.ledger.overrides import standing_decisions
from tamis_schemas import HumanStage, InvalidParameters, ReviewPlan
from tamis_schemas.batches.wire import SHORT_ID
from tamis_schemas.ledger import batches, items, reviews
from tamis_schemas.operations import kind_of
from tamis_schemas.records.record_number import record_words

from .final_outcome import Outcome, outcomes

STANDS = {Outcome.CONFLICT: "in conflict"}  # where the outcome is no word for how the record stands
MOST_NAMED = 5  # records in one error


@dataclass(frozen=True)
class Unpassed:
    """A record with a decision on its report that has not passed the screening."""

    index: int  # place in the batch, from 0
    item_id: str
    outcome: Outcome


def unpassed(
    connection: Connection, batch_id: UUID, operation: str, places: Collection[int] | None = None
) -> list[Unpassed]:
    """The records with a decision on their report that did not pass the screening, in their order.

    `places`: among these alone; None: among all.
    """
    view = standing_decisions.c
    decided = select(view.idx).distinct().where(view.batch_id == batch_id, view.stage != HumanStage.OWN.value)
    if places is not None:
        decided = decided.where(view.idx == any_(_array(places)))
    there = connection.execute(decided).scalars().all()
    if not there:
        return []
    each = outcomes(batch_id, operation).subquery("each")
    statement = (
        select(each.c.idx, each.c.outcome, items.c.item_id)
        .join(items, (items.c.batch_id == batch_id) & (items.c.idx == each.c.idx))
        .where(each.c.idx == any_(_array(there)), each.c.outcome != Outcome.PASSED.value)
        .order_by(each.c.idx)
    )
    return [Unpassed(row.idx, row.item_id, Outcome(row.outcome)) for row in connection.execute(statement)]


def unpassed_words(others: Sequence[Unpassed]) -> str:
    """Which records these are, what is wrong with them, and how it may be mended."""
    named = [
        f"{record_words(one.index, one.item_id)}, which is {STANDS.get(one.outcome, one.outcome)}"
        for one in others[:MOST_NAMED]
    ]
    if len(others) > MOST_NAMED:
        named.append(f"{len(others) - MOST_NAMED:,} more")
    return (
        f"not passed by the screening: {'; '.join(named)}. A report is sought and assessed of what passed: include the "
        "record first (where people disagree, with --settle), or withdraw what is said of its report"
    )


def check_screens_last(connection: Connection, batch_id: UUID) -> None:
    """Raise `InvalidParameters` where a batch is not the last screening of its review, naming the batch that is."""
    row = connection.execute(
        select(batches.c.operation, batches.c.review_id, batches.c.stage).where(batches.c.id == batch_id)
    ).one()
    last = _last_screening(connection, row.review_id) if row.review_id is not None else None
    if not kind_of(row.operation).decides():
        raise InvalidParameters(
            f"batch {batch_id} screens nothing, it is of {row.operation}: reports are sought of what passed a screening"
            + ("" if last is None else f". {_where(connection, row.review_id, last)}")
        )
    if last is not None and last != row.stage:
        raise InvalidParameters(
            f"batch {batch_id} is not the last screening of its review. {_where(connection, row.review_id, last)}"
        )


def _last_screening(connection: Connection, review_id: UUID) -> int | None:
    plan: dict[str, Any] = connection.execute(select(reviews.c.plan).where(reviews.c.id == review_id)).scalar_one()
    stages = ReviewPlan.model_validate(plan).stages
    return max((place for place, stage in enumerate(stages) if kind_of(stage.name).decides()), default=None)


def _where(connection: Connection, review_id: UUID, stage: int) -> str:
    of_stage = select(batches.c.id).where(batches.c.review_id == review_id, batches.c.stage == stage)
    batch = connection.execute(of_stage).scalar_one_or_none()
    if batch is None:
        return f"Reports are decided about in its stage {stage + 1}, which has not begun"
    return f"Reports are decided about in its stage {stage + 1}: batch {str(batch)[:SHORT_ID]}"


def _array(places: Collection[int]) -> Any:
    return literal([*places], ARRAY(Integer))
