"""Budgets: before a call, its maximum cost is reserved. After the call, its actual cost replaces the reservation.

For each batch, all workers reserve in one row of the ledger. So calls in flight never reserve more than the remaining
budget. The budget is exceeded only if calls cost more than reserved. A call can cost more if its prompt has more than
one token per two characters. If the end of a call is unknown (no answer in time, a killed worker), the call was
probably charged, so the reservation stays.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias
from uuid import UUID
from weakref import WeakValueDictionary

from sqlalchemy.exc import SQLAlchemyError

from tamis_schemas import Pause, PauseKind, Prices, Tier, Usage, dollars

from ..event_loop.loop import wait_within
from ..ledger.batches import BatchTerms
from ..ledger.connection import refusal_words
from ..ledger.spending import BudgetChange, BudgetState, Spending
from ..telemetry.measures import NULL_MEASURES, Measures
from .backpressure import Backpressure
from .group_commit import GroupCommit

LOOK = 1.0  # s between two checks for room from calls of other workers
CLOSING = 5.0  # s for pending settlements when the worker stops; later ones stay reserved
CHARACTERS_OF_TOKEN = 2  # of a prompt, at least; English has four, and the schema of the answer counts too

log = logging.getLogger(__name__)

Changes: TypeAlias = GroupCommit[BudgetChange, BudgetState]


class OverBudget(Exception):
    """Raised if a batch must not continue: its budget is too small, or a price is unknown. `pause` gives the reason."""

    def __init__(self, kind: PauseKind, message: str) -> None:
        self.pause = Pause(kind=kind, message=message)
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Reservation:
    """Dollars reserved for one call."""

    batch_id: UUID
    model: str
    amount: Decimal


class _Room:
    """The calls of this process that wait for a batch's budget.

    One call at a time checks the budget. All other calls wait in a queue.
    """

    __slots__ = ("__weakref__", "looking", "settled")

    def __init__(self) -> None:
        self.looking = asyncio.Lock()  # first come, first served
        self.settled = asyncio.Event()


class BudgetReservations:
    """The writer of budget reservations in one process, and of the actual costs that replace the reservations."""

    def __init__(
        self,
        spending: Spending,
        prices: Prices,
        *,
        patience: float,
        flex_patience: float | None = None,
        backpressure: Backpressure | None = None,
        measures: Measures = NULL_MEASURES,
    ) -> None:
        """Prepare the writer. Start `commits` before use.

        `patience`: seconds after which every call has surely ended, so no more costs of ended calls are expected.
        `flex_patience`: the same for batches at the flex tier (cheap, slow calls). Its default is `patience`.
        """
        self._changes: Changes = GroupCommit(
            "spending", spending.change, backpressure=backpressure or Backpressure(), measures=measures
        )
        self.commits = (self._changes,)  # must be started before use
        self._prices = prices
        self._patience = patience
        self._flex_patience = patience if flex_patience is None else flex_patience
        self._rooms: WeakValueDictionary[UUID, _Room] = WeakValueDictionary()
        self._open: set[asyncio.Task[BudgetState]] = set()

    async def settled(self) -> None:
        """Wait until the ledger has recorded the costs of ended calls, but at most `CLOSING` seconds."""
        if self._open:
            await asyncio.wait(self._open, timeout=CLOSING)

    async def reserve(
        self, terms: BatchTerms, model: str, prompt_tokens: int, max_tokens: int, tier: str | None = None
    ) -> Reservation | None:
        """Reserve the maximum cost of a call, and return the reservation. Return None if the batch has no budget.

        `tier` is the requested service tier. The answer may come at the standard tier, so the higher cost is reserved.
        If calls in flight have reserved too much, wait until their actual costs are recorded. If the wait is cancelled,
        nothing stays reserved.

        Raises:
            OverBudget: the budget is too small for the call, or the price of the model is unknown.
        """
        if not terms.budgeted:
            return None
        amount = self._prices.at_most(model, prompt_tokens, max_tokens, tier)
        if amount is None:
            at_tier = f" at the tier {tier!r}" if self._prices.knows(model) else ""
            raise OverBudget(
                PauseKind.PRICE,
                f"the price of the model {model!r}{at_tier} is unknown, so no budget can be kept: add its price to the "
                "file that TAMIS_PRICES names",
            )
        reservation = Reservation(terms.batch_id, model, amount)
        room = self._rooms.get(terms.batch_id)
        if room is None:
            room = self._rooms[terms.batch_id] = _Room()
        if not room.looking.locked() and (await self._try(reservation)).granted:
            return reservation
        async with room.looking:
            patience = self._flex_patience if terms.steering.tier is Tier.FLEX else self._patience
            await self._await_room(reservation, room, patience)
        return reservation

    async def settle(self, reservation: Reservation | None, usage: Usage | None, tier: str | None = None) -> None:
        """Replace a reservation by the cost of its call, and wait until the ledger has recorded the cost.

        If the cost is unknown, because `usage` is None or `tier` has no price, the reservation stays.
        """
        if reservation is None or usage is None:
            return
        cost = self._prices.cost(reservation.model, usage, tier)
        if cost is None:
            return
        with suppress(SQLAlchemyError):  # rejected: it is logged, and the reservation stays
            await asyncio.shield(self._settled(reservation, cost))

    def give_back(self, reservation: Reservation | None) -> None:
        """Release the reservation of a call that was not made. The method does not wait for the ledger."""
        if reservation is not None:
            self._settled(reservation, Decimal(0))

    async def _await_room(self, reservation: Reservation, room: _Room, patience: float) -> None:
        clock = asyncio.get_running_loop().time
        since, seen = clock(), (Decimal(-1), Decimal(-1))
        while True:
            room.settled.clear()
            before = clock()
            state = await self._try(reservation)
            since += clock() - before  # while the ledger was unavailable, no call could be settled
            if state.granted:
                return
            if state.spent + reservation.amount > state.max_cost:
                raise OverBudget(PauseKind.BUDGET, _words(state, reservation.amount))
            if (amounts := (state.spent, state.reserved)) != seen:
                since, seen = clock(), amounts
            elif clock() - since > patience:
                raise OverBudget(PauseKind.BUDGET, _words(state, reservation.amount))
            await wait_within(room.settled, LOOK)  # calls of other workers are visible only in the ledger

    async def _try(self, reservation: Reservation) -> BudgetState:
        change = BudgetChange(reservation.batch_id, reserve=reservation.amount)
        task = asyncio.ensure_future(self._changes.submit(change))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(lambda done: self._release_unclaimed(reservation, done))
            raise

    def _release_unclaimed(self, reservation: Reservation, done: "asyncio.Future[BudgetState]") -> None:
        """Release a reservation that was granted after its caller was cancelled."""
        if not done.cancelled() and done.exception() is None and done.result().granted:
            self.give_back(reservation)

    def _settled(self, reservation: Reservation, cost: Decimal) -> "asyncio.Task[BudgetState]":
        change = BudgetChange(reservation.batch_id, release=reservation.amount, spend=cost)
        task = asyncio.create_task(self._changes.submit(change))
        self._open.add(task)
        task.add_done_callback(lambda done: self._is_settled(reservation.batch_id, done))
        return task

    def _is_settled(self, batch_id: UUID, done: "asyncio.Task[BudgetState]") -> None:
        self._open.discard(done)
        if not done.cancelled() and (error := done.exception()) is not None:
            log.error(
                "batch=%s: a call could not be settled, so its reservation stays: %s", batch_id, refusal_words(error)
            )
        if (room := self._rooms.get(batch_id)) is not None:
            room.settled.set()


def reserved_tokens(characters: Sequence[int]) -> int:
    """Return a high estimate of a prompt's tokens: half the characters of its messages. Few prompts exceed it."""
    return sum(characters) // CHARACTERS_OF_TOKEN


def _words(state: BudgetState, amount: Decimal) -> str:
    held = f" and {dollars(state.reserved)} reserved for calls with an unknown end" if state.reserved else ""
    return (
        f"{dollars(state.spent)} of {dollars(state.max_cost)} is spent{held}; the next call may cost {dollars(amount)}"
    )
