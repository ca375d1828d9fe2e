"""The allowance of a gateway's key: the allowed models, and the most that its batches may cost in a month.

If a key has a monthly amount, each of its batches gets a budget, which the workers enforce. The money left in a month
is the amount, minus the cost of ended batches, minus the budgets of batches that have not ended. A batch counts in the
month (UTC) of its submission. A later stage of a review counts in the month in which it began.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, case, func, select

from tamis_schemas import AllowanceSpent, NotAllowed, Pause, PauseKind, ReviewPlan, dollars
from tamis_schemas.batches.steering import HARMLESS_FIELDS, Steering
from tamis_schemas.ledger import api_keys, batches, results, spending
from tamis_schemas.operations import models_in, models_of

from ..submission.budget import has_none
from ..submission.new_batch import NewBatch

ALLOWANCES = 7_264_950  # first number of the advisory locks; the second one is the key's


@dataclass(frozen=True)
class Allowance:
    """A key's monthly amount, and the parts of it that other batches have spent or reserved."""

    amount: Decimal  # dollars
    cost: Decimal  # of batches that ended
    held: Decimal  # budgets of batches that have not ended
    unbounded: UUID | None  # a batch that has not ended and has no budget: its cost is unlimited
    ends_at: datetime

    @property
    def left(self) -> Decimal:
        """The dollars that a new budget may have.

        While a batch without a budget runs, nothing is left: that batch may spend everything.
        """
        return Decimal(0) if self.unbounded else max(Decimal(0), self.amount - self.cost - self.held)

    def refusal(self) -> AllowanceSpent:
        """Return the error for a budget that is too large.

        Its message says how the money was used, and when the month ends.
        """
        reasons = [f"{dollars(self.cost)} of the key's {dollars(self.amount)} a month is spent"]
        if self.held:
            reasons.append(f"{dollars(self.held)} is reserved for unfinished batches")
        if self.unbounded:
            reasons.append(f"batch {self.unbounded} was submitted without a budget and has not ended")
        return AllowanceSpent(f"{', '.join(reasons)}; the month ends at {self.ends_at:%Y-%m-%d %H:%M} UTC")


def read_key_id(connection: Connection, batch_id: UUID) -> str | None:
    """Return the id of the API key that submitted a batch to the gateway; None if the batch came without a key."""
    key_id: str | None = connection.execute(select(batches.c.api_key_id).where(batches.c.id == batch_id)).scalar_one()
    return key_id


def check_plan(connection: Connection, key_id: str | None, plan: ReviewPlan) -> None:
    """Raise `NotAllowed` if a stage of the plan names a model that the key may not ask.

    Call this function when a review is submitted, because no user is present when a later stage begins.
    """
    key = _key(connection, key_id)
    if key is not None:
        plan.each(lambda stage: _check_models(key, models_of(stage.operation, stage.model)))


def admitted(connection: Connection, batch: NewBatch) -> NewBatch:
    """Return the batch with the budget that its key allows, or unchanged if the key has no monthly amount.

    Other submissions with the same key wait until the commit. If the key refuses a later stage of a review, the stage
    is returned as paused, because no user is present to see an error. The stage's budget is then 0 if the key has a
    monthly amount.

    Raises:
        NotAllowed: the key may not ask this model, or a model of the panel.
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
    """Raise `NotAllowed` if the key of an existing batch may no longer ask the batch's model."""
    key = _key(connection, batch.api_key_id)
    if key is not None:
        _check_batch(key, batch)


def larger_budget(connection: Connection, batch: Row[Any], wanted: Decimal) -> Decimal:
    """Return the new budget of a resumed batch: `wanted`, or as much of it as the key allows.

    Raises `AllowanceSpent` if the key allows less than `wanted`, and no more than the present budget.
    """
    key = _key(connection, batch.api_key_id)
    if key is None or key.monthly_cost is None:
        return wanted
    allowance = _allowance(connection, key, key.monthly_cost, batch.created_at, but=batch.id)
    if allowance.left < wanted and allowance.left <= batch.max_cost:
        raise allowance.refusal()
    return _smaller(wanted, allowance.left)


def budget_of_round(connection: Connection, batch: Row[Any], requested: Decimal | None) -> Decimal | None:
    """Return the budget of a batch's next round. If the key has no monthly amount, return `requested`.

    Otherwise, return `requested` (None: the present budget), but no more than the key allows now. Since the batch
    ended, other batches may have used the unspent part of its budget.

    Raises:
        NotAllowed: the key may no longer ask the batch's model.
        AllowanceSpent: the key allows no more than the batch has cost already.
        InvalidParameters: the key has a monthly amount, and neither the batch nor the request has a budget.
    """
    key, budget = _key(connection, batch.api_key_id), batch.max_cost if requested is None else requested
    if key is None:
        return requested
    _check_batch(key, batch)
    if key.monthly_cost is None:
        return requested
    if budget is None:
        raise has_none(batch.id)
    allowance = _allowance(connection, key, key.monthly_cost, batch.created_at, but=batch.id)
    spent = select(spending.c.spent + spending.c.reserved).where(spending.c.batch_id == batch.id)
    if allowance.left < budget and allowance.left <= connection.execute(spent).scalar_one():
        raise allowance.refusal()
    return _smaller(budget, allowance.left)


def _key(connection: Connection, key_id: str | None) -> Row[Any] | None:
    if key_id is None:
        return None
    restrictions = select(*(api_keys.c[name] for name in ("id", "models", "monthly_cost")))
    return connection.execute(restrictions.where(api_keys.c.id == key_id)).one_or_none()


def _bounded(connection: Connection, key: Row[Any], batch: NewBatch) -> NewBatch:
    _check_batch(key, batch)
    if key.monthly_cost is None:
        return batch
    allowance = _allowance(connection, key, key.monthly_cost, connection.execute(select(func.now())).scalar_one())
    if allowance.left <= 0:
        raise allowance.refusal()
    return replace(batch, max_cost=_smaller(batch.max_cost, allowance.left))


def _check_batch(key: Row[Any], batch: NewBatch | Row[Any]) -> None:
    _check_models(key, models_in(batch.params, batch.model))
    unbound = Steering.model_validate(batch.steering or {}).unbound
    if unbound is not None and (key.models is not None or key.monthly_cost is not None):
        raise NotAllowed(
            f"the key {key.id} has limits, so it may not send {unbound}, which could reach another model or price: "
            f"use a key without limits, or only {', '.join(sorted(HARMLESS_FIELDS))}"
        )


def _check_models(key: Row[Any], models: Sequence[str | None]) -> None:
    refused = [] if key.models is None else [model for model in models if model not in key.models]
    if key.models is None or not refused:
        return
    subject = "submit a batch without a model" if refused[0] is None else f"use the model {refused[0]!r}"
    raise NotAllowed(f"the key {key.id} may not {subject}: name one of {', '.join(key.models)}")


def _allowance(
    connection: Connection, key: Row[Any], amount: Decimal, at: datetime, *, but: UUID | None = None
) -> Allowance:
    """Return the key's allowance in the month of `at`. The batch `but` is not counted.

    A lock makes other submissions with this key wait until the commit.
    """
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
    """Return the beginning of the month of `at`, and the beginning of the next month, in UTC."""
    begins = func.date_trunc("month", func.timezone("UTC", at))
    return func.timezone("UTC", begins), func.timezone("UTC", begins + func.make_interval(0, 1))


def _smaller(budget: Decimal | None, left: Decimal) -> Decimal:
    return left if budget is None else min(budget, left)
