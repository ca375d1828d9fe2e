"""The allowance of a gateway's key: the models that its batches may name, and the money they may cost in a month.

A key that may spend an amount of money a month gives each of its batches a budget, so that the workers keep to it. What
is left of the month is the amount less what its ended batches cost, and less the whole budgets of the others: they may
use them up. A batch counts in the month (UTC) in which it was submitted, whenever its calls are paid; a review's
further stage in that in which it begins.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, case, func, select

from tamis_schemas import AllowanceSpent, NotAllowed, Pause, PauseKind, ReviewPlan, dollars
from tamis_schemas.ledger import api_keys, batches, results, spending
from tamis_schemas.operations import models_in, models_of

from ..submission.budget import has_none
from ..submission.new_batch import NewBatch

ALLOWANCES = 7_264_950  # the first number of their advisory locks; the second tells the key


@dataclass(frozen=True)
class _Key:
    """The restrictions of a key."""

    id: str
    models: list[str] | None
    monthly_cost: Decimal | None


@dataclass(frozen=True)
class Allowance:
    """The money that a key may spend on its batches of one month, as far as other batches leave it."""

    amount: Decimal  # dollars
    cost: Decimal  # of batches that ended
    held: Decimal  # budgets of batches that have not
    unbounded: UUID | None  # one that has not ended and has no budget: it may cost anything
    ends_at: datetime

    @property
    def left(self) -> Decimal:
        """Dollars; 0 where a batch without a budget may take all of it."""
        return Decimal(0) if self.unbounded else max(Decimal(0), self.amount - self.cost - self.held)

    def refusal(self) -> AllowanceSpent:
        """Return the error for a larger budget: why there is none, and when one may be."""
        why = [f"{dollars(self.cost)} of the key's {dollars(self.amount)} a month are spent"]
        if self.held:
            why.append(f"{dollars(self.held)} are held by batches that have not ended")
        if self.unbounded:
            why.append(f"batch {self.unbounded} was submitted without a budget and has not ended")
        return AllowanceSpent(f"{', '.join(why)}; the month ends at {self.ends_at:%Y-%m-%d %H:%M} UTC")


def read_key_id(connection: Connection, batch_id: UUID) -> str | None:
    """Return the id of the gateway's key that a batch was submitted with; None: with none."""
    key_id: str | None = connection.execute(select(batches.c.api_key_id).where(batches.c.id == batch_id)).scalar_one()
    return key_id


def check_plan(connection: Connection, key_id: str | None, plan: ReviewPlan) -> None:
    """Raises `NotAllowed` where the key may not ask the model of a stage: when that one begins, nobody is there."""
    key = _key(connection, key_id)
    if key is not None:
        plan.each(lambda stage: _check_models(key, models_of(stage.operation, stage.model)))


def admitted(connection: Connection, batch: NewBatch) -> NewBatch:
    """The batch with the budget that its key leaves it; as it is where no key bounds it.

    Of two submissions with one key the second waits here until the first is committed. A further stage of a review,
    which workers begin, is not refused, for nobody is there: it is paused, and has no money until it is resumed.

    Raises:
        NotAllowed: the key may not ask this model, or one of the panel's.
        AllowanceSpent: the key has nothing left this month.
    """
    key = _key(connection, batch.api_key_id)
    if key is None:
        return batch
    try:
        return _bounded(connection, key, batch)
    except NotAllowed as refusal:
        if batch.stage is None or batch.stage.number == 0:
            raise
        kind = PauseKind.BUDGET if isinstance(refusal, AllowanceSpent) else PauseKind.PERMISSION
        budget = batch.max_cost if key.monthly_cost is None else Decimal(0)
        return replace(batch, max_cost=budget, pause=Pause(kind=kind, message=str(refusal)))


def check_models(connection: Connection, batch: Row[Any]) -> None:
    """Raises `NotAllowed` where the key of a batch that is there may not ask its model any more."""
    key = _key(connection, batch.api_key_id)
    if key is not None:
        _check_models(key, models_in(batch.params, batch.model))


def larger_budget(connection: Connection, batch: Row[Any], wanted: Decimal) -> Decimal:
    """The budget that a batch which goes on gets where `wanted` is asked for.

    Raises `AllowanceSpent` where its key leaves it no more than it has.
    """
    key = _key(connection, batch.api_key_id)
    if key is None or key.monthly_cost is None:
        return wanted
    allowance = _allowance(connection, key, key.monthly_cost, batch.created_at, but=batch.id)
    if allowance.left < wanted and allowance.left <= batch.max_cost:
        raise allowance.refusal()
    return _smaller(wanted, allowance.left)


def budget_of_round(connection: Connection, batch: Row[Any], requested: Decimal | None) -> Decimal | None:
    """The budget of a batch's next round: the one asked for, else the one it has, as far as its key leaves it.

    An ended batch counts with its cost alone, so others may hold by now what it had left.

    Raises:
        NotAllowed: its key may not ask its model any more.
        AllowanceSpent: its key leaves it no more than it has cost.
        InvalidParameters: its key bounds money, and the batch was submitted without a budget.
    """
    key, wanted = _key(connection, batch.api_key_id), batch.max_cost if requested is None else requested
    if key is None:
        return requested
    _check_models(key, models_in(batch.params, batch.model))
    if key.monthly_cost is None:
        return requested
    if wanted is None:
        raise has_none(batch.id)
    allowance = _allowance(connection, key, key.monthly_cost, batch.created_at, but=batch.id)
    gone = select(spending.c.spent + spending.c.reserved).where(spending.c.batch_id == batch.id)
    if allowance.left < wanted and allowance.left <= connection.execute(gone).scalar_one():
        raise allowance.refusal()
    return _smaller(wanted, allowance.left)


def _key(connection: Connection, key_id: str | None) -> _Key | None:
    if key_id is None:
        return None
    restrictions = select(api_keys.c.id, api_keys.c.models, api_keys.c.monthly_cost)
    row = connection.execute(restrictions.where(api_keys.c.id == key_id)).one_or_none()
    return None if row is None else _Key(*row)


def _bounded(connection: Connection, key: _Key, batch: NewBatch) -> NewBatch:
    _check_models(key, models_in(batch.params, batch.model))
    if key.monthly_cost is None:
        return batch
    allowance = _allowance(connection, key, key.monthly_cost, connection.execute(select(func.now())).scalar_one())
    if allowance.left <= 0:
        raise allowance.refusal()
    return replace(batch, max_cost=_smaller(batch.max_cost, allowance.left))


def _check_models(key: _Key, models: Sequence[str | None]) -> None:
    refused = [] if key.models is None else [model for model in models if model not in key.models]
    if key.models is None or not refused:
        return
    named = "a batch that names no model" if refused[0] is None else f"the model {refused[0]!r}"
    raise NotAllowed(f"the key {key.id} may not submit {named}: name one of {', '.join(key.models)}")


def _allowance(
    connection: Connection, key: _Key, amount: Decimal, at: datetime, *, but: UUID | None = None
) -> Allowance:
    """Return the month's allowance without one batch; nobody else's submission changes it before the commit."""
    connection.execute(select(func.pg_advisory_xact_lock(ALLOWANCES, func.hashtext(key.id))))
    begins, ends = connection.execute(select(*_month(at))).one()
    ended = batches.c.finished_at.is_not(None)
    paid = select(func.sum(results.c.cost)).where(results.c.batch_id == batches.c.id).scalar_subquery()
    cost = case((ended, func.coalesce(spending.c.spent + spending.c.reserved, paid)))
    unbounded = case((~ended & batches.c.max_cost.is_(None), batches.c.id))
    statement = (
        select(
            func.coalesce(func.sum(cost), 0).label("cost"),
            func.coalesce(func.sum(case((~ended, batches.c.max_cost))), 0).label("held"),
            func.array_agg(unbounded).filter(unbounded.is_not(None)).label("unbounded"),
        )
        .select_from(batches)
        .outerjoin(spending, spending.c.batch_id == batches.c.id)
        .where(batches.c.api_key_id == key.id, batches.c.created_at >= begins, batches.c.created_at < ends)
    )
    if but is not None:
        statement = statement.where(batches.c.id != but)
    row = connection.execute(statement).one()
    unbounded_one = row.unbounded[0] if row.unbounded else None
    return Allowance(amount, row.cost, row.held, unbounded_one, ends.astimezone(UTC))


def _month(at: datetime) -> tuple[Any, Any]:
    """The beginning of its month and of the next one, by the calendar of UTC."""
    begins = func.date_trunc("month", func.timezone("UTC", at))
    return func.timezone("UTC", begins), func.timezone("UTC", begins + func.make_interval(0, 1))


def _smaller(budget: Decimal | None, left: Decimal) -> Decimal:
    return left if budget is None else min(budget, left)
