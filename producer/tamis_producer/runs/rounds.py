"""Rounds: a model is asked again about a batch's failed items, and all other items stay unchanged.

One transaction locks the batch and begins the round. Failed items become pending, `past_failures` keeps their failures,
and new shards contain only these items. An item's row in `results` stays until its next result, because it has the
item's cost. So readers of results check the item's state first.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    exists,
    func,
    insert,
    null,
    or_,
    select,
    true,
    update,
)

from tamis_producer.ledger.aggregates import TALLIED_LIKELY_COST
from tamis_schemas import (
    BatchStatus,
    ErrorKind,
    IllegalTransition,
    InvalidParameters,
    InvalidRequest,
    ItemStatus,
    Pause,
    UnknownBatch,
    dollars,
)
from tamis_schemas.batches.status import check_batch_transition
from tamis_schemas.ledger import (
    batches,
    items,
    past_failures,
    results,
    reviews,
    shards,
    spending,
    tallies,
)

from ..ledger.allowance import budget_of_round
from ..submission.budget import amount_of, has_none


@dataclass(frozen=True)
class Retryable:
    """A completed batch with failed items; `items` is the size of its next round."""

    batch_id: UUID
    label: str | None
    operation: str
    items: int
    likely_cost: Decimal | None  # dollars; None: no price is known for the batch's decided items


def kinds_of(named: Collection[ErrorKind | str] | None) -> frozenset[ErrorKind] | None:
    """Return the kinds of errors with these names. If `named` is None, return None, which means all kinds.

    Raises `InvalidParameters` for an unknown name; the message lists the valid names.
    """
    if named is None:
        return None
    if isinstance(named, str):
        raise InvalidParameters(f"kinds: {named!r} is a text; pass a list of kinds, for example ['timeout']")
    kinds = set()
    for kind in named:
        try:
            kinds.add(ErrorKind(kind))
        except ValueError as error:
            names = ", ".join(kind.value for kind in ErrorKind)
            raise InvalidParameters(f"{kind!r} is not a kind of error; the kinds are: {names}") from error
    if not kinds:
        raise InvalidParameters("kinds: the list is empty; omit it to retry every failed item")
    return frozenset(kinds)


def retry(
    connection: Connection,
    batch_id: UUID,
    kinds: Collection[ErrorKind | str] | None = None,
    cancelled: bool = False,
    max_cost: Decimal | None = None,
) -> int:
    """Begin a new round with the items that failed with these `kinds` of error (None: any), and return their number.

    The round begins in the caller's transaction. Afterwards the caller dispatches the batch's shards. A later stage of
    a review receives the new decisions only if that stage has not begun. `cancelled`: also retry the cancelled items.

    Raises:
        IllegalTransition: the batch is neither completed nor cancelled, or has calls in flight.
        InvalidRequest: the batch has no such item; the message lists the kinds that exist.
        InvalidParameters: a kind is unknown; `max_cost` is not an amount, or is set for a batch without a budget; or
            the batch's budget is used up, and `max_cost` is not larger.
        NotAllowed: the gateway's key of the batch no longer allows the model, or allows no further cost.
    """
    error_kinds = kinds_of(kinds)
    amount = None if max_cost is None else amount_of(max_cost)
    batch = _locked(connection, batch_id)
    amount = budget_of_round(connection, batch, amount)
    _check_budget(connection, batch, amount)
    places = _reopened(connection, batch, error_kinds, cancelled=cancelled)
    if not places:
        raise InvalidRequest(_nothing(connection, batch, error_kinds, cancelled=cancelled))
    check_batch_transition(BatchStatus(batch.state), BatchStatus.RUNNING)
    number = batch.round + 1
    connection.execute(
        update(batches)
        .where(batches.c.id == batch_id)
        .values(
            state=BatchStatus.RUNNING,
            round=number,
            pause=null(),
            lane=None,  # a new lane is chosen, because other batches may use the old lane
            started_at=func.now(),
            finished_at=None,
            max_cost=batch.max_cost if amount is None else amount,
        )
    )
    connection.execute(insert(shards), _shard_rows(batch, number, places))
    if batch.review_id is not None and not later_stage(connection, batch_id):
        connection.execute(update(reviews).where(reviews.c.id == batch.review_id).values(finished_at=None))
    return len(places)


def later_stage(connection: Connection, batch_id: UUID) -> bool:
    """Return whether a later stage of the batch's review has begun.

    That stage would not receive results of a new round.
    """
    later = batches.alias("later")
    follows = (later.c.review_id == batches.c.review_id) & (later.c.stage > batches.c.stage)
    return bool(connection.execute(select(exists().where(batches.c.id == batch_id, follows))).scalar_one())


def find_retryable(connection: Connection, kinds: Collection[ErrorKind | str] | None = None) -> list[Retryable]:
    """Return the completed batches with items that failed with these `kinds` of error (None: any), oldest first.

    Services' batches are omitted: their callers have received the errors, and would receive no new answer.
    """
    error_kinds = kinds_of(kinds)
    # Counters find the batches with failures, so neither other batches nor decided items are read.
    some = select(tallies.c.batch_id).where(tallies.c.failed != 0).distinct().subquery("some")
    tallied = (
        select(func.sum(tallies.c.failed).label("n"), TALLIED_LIKELY_COST.label("mean"))
        .where(tallies.c.batch_id == batches.c.id)
        .lateral("tallied")
    )
    n: ColumnElement[Any] = tallied.c.n
    if error_kinds is not None:
        of_kind = (
            select(func.count())
            .join(items, _result_of_item())
            .where(
                results.c.batch_id == batches.c.id,
                results.c.error_kind.in_(error_kinds),
                items.c.state == ItemStatus.FAILED,
            )
        )
        n = of_kind.correlate(batches).scalar_subquery()
    statement = (
        select(batches.c.id, batches.c.label, batches.c.operation, n.label("n"), tallied.c.mean)
        .join(some, some.c.batch_id == batches.c.id)
        .join(tallied, true())
        .where(batches.c.state == BatchStatus.COMPLETED, batches.c.purging_at.is_(None), batches.c.service.is_(None))
        .order_by(batches.c.created_at)
    )
    return [
        Retryable(
            batch_id=row.id,
            label=row.label,
            operation=row.operation,
            items=int(row.n),
            likely_cost=None if row.mean is None else row.mean * row.n,
        )
        for row in connection.execute(statement)
        if row.n
    ]


def _locked(connection: Connection, batch_id: UUID) -> Row[Any]:
    """Return the batch, locked until the end of this transaction.

    Raises `UnknownBatch` if there is no such batch. Raises `IllegalTransition` if the batch has not ended, or still has
    calls in flight.
    """
    review = connection.execute(select(batches.c.review_id).where(batches.c.id == batch_id)).scalar_one_or_none()
    if review is not None:  # first, in the same order as the beginning of the next stage
        connection.execute(select(reviews.c.id).where(reviews.c.id == review).with_for_update())
    batch = connection.execute(select(batches).where(batches.c.id == batch_id).with_for_update()).one_or_none()
    if batch is None or batch.purging_at is not None:
        raise UnknownBatch(f"there is no batch {batch_id}")
    match BatchStatus(batch.state):
        case BatchStatus.PENDING | BatchStatus.RUNNING:
            under_way = "" if batch.round == 1 else f" (round {batch.round})"
            raise IllegalTransition(
                f"batch {batch_id} is still {batch.state}{under_way}: failed items can be retried when it is "
                f"completed. `tamis status {batch_id} --watch` follows it"
            )
        case BatchStatus.PAUSED:
            remedy = Pause.model_validate(batch.pause).remedy(str(batch_id))
            raise IllegalTransition(
                f"batch {batch_id} is paused: failed items can be retried when it is completed or cancelled. {remedy}"
            )
        case BatchStatus.CANCELLED if batch.finished_at is None:
            raise IllegalTransition(
                f"batch {batch_id} is cancelled, but its last calls or its summary are not finished. Keep a worker "
                f"running, and try again in a moment; `tamis status {batch_id}` shows when it has ended"
            )
    return batch


def _check_budget(connection: Connection, batch: Row[Any], amount: Decimal | None) -> None:
    if batch.max_cost is None:
        if amount is not None:
            raise has_none(batch.id)
        return
    spent = connection.execute(
        select(spending.c.spent + spending.c.reserved).where(spending.c.batch_id == batch.id)
    ).scalar_one()
    if spent >= (batch.max_cost if amount is None else amount):
        raise InvalidParameters(
            f"max_cost: {dollars(spent)} of batch {batch.id}'s budget of {dollars(batch.max_cost)} are spent or "
            f"reserved; retry it with a larger one: `tamis retry {batch.id} --max-cost AMOUNT`"
        )


def _reopened(
    connection: Connection, batch: Row[Any], kinds: frozenset[ErrorKind] | None, *, cancelled: bool
) -> Sequence[int]:
    """Set the items that are to be retried to pending, and store their failures. Return their places in order."""
    failed = and_(items.c.batch_id == batch.id, items.c.state == ItemStatus.FAILED)
    if kinds is not None:
        end = results.alias("end")
        same = and_(end.c.batch_id == items.c.batch_id, end.c.idx == items.c.idx)
        failed = and_(failed, exists().where(same, end.c.error_kind.in_(kinds)))
    failures = (
        select(items.c.batch_id, items.c.idx, results.c.round, results.c.error_kind, results.c.error)
        .join(results, _result_of_item())
        .where(failed)
    )
    connection.execute(insert(past_failures).from_select(["batch_id", "idx", "round", "error_kind", "error"], failures))
    chosen = (
        or_(failed, and_(items.c.batch_id == batch.id, items.c.state == ItemStatus.CANCELLED)) if cancelled else failed
    )
    # The fence stays, so that writes of an earlier claim are refused at any time.
    reopened = connection.execute(
        update(items)
        .where(chosen)
        .values(state=ItemStatus.PENDING, attempts=0, worker=None, claimed_at=None, republished_at=None)
        .returning(items.c.idx)
    )
    return sorted(reopened.scalars())


def _shard_rows(batch: Row[Any], number: int, places: Sequence[int]) -> list[dict[str, Any]]:
    """Return rows for new shards with the items at `places`, at most `shard_size` in each."""
    size = batch.shard_size
    portions = [places[first : first + size] for first in range(0, len(places), size)]
    return [
        {
            "batch_id": batch.id,
            "round": number,
            "shard": shard,
            "first_idx": portion[0],
            "end_idx": portion[-1] + 1,
        }
        for shard, portion in enumerate(portions)
    ]


def _nothing(connection: Connection, batch: Row[Any], kinds: frozenset[ErrorKind] | None, *, cancelled: bool) -> str:
    """Return, as text, the reason why there is nothing to retry, and the failures that exist."""
    n = func.count().label("n")
    failures = connection.execute(
        select(results.c.error_kind, n)
        .join(items, _result_of_item())
        .where(items.c.batch_id == batch.id, items.c.state == ItemStatus.FAILED)
        .group_by(results.c.error_kind)
        .order_by(n.desc(), results.c.error_kind)
    ).all()
    ended = select(func.count()).where(items.c.batch_id == batch.id, items.c.state == ItemStatus.CANCELLED)
    n_cancelled = 0 if cancelled else connection.execute(ended).scalar_one()
    verb, them = ("is", "it") if n_cancelled == 1 else ("are", "them")
    also = f"; {n_cancelled:,} of its items {verb} cancelled: --cancelled retries {them}" if n_cancelled else ""
    if kinds is None or not failures:
        return f"batch {batch.id} has no failed item: there is nothing to retry{also}"
    named_kinds = " or ".join(sorted(kind.value for kind in kinds))
    counts = ", ".join(f"{row.error_kind} ({row.n:,})" for row in failures)
    return f"batch {batch.id} has no failed item of kind {named_kinds}; its failures are: {counts}{also}"


def _result_of_item() -> Any:
    return and_(results.c.batch_id == items.c.batch_id, results.c.idx == items.c.idx)
