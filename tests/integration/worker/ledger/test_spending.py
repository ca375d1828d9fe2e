"""Spending on a real Postgres: what is granted, from many sides at once, and after replies that were lost."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from stage import abstracts
from tamis_producer import Client
from tamis_schemas import Filter, LedgerUnavailable
from tamis_worker.ledger import spending
from tamis_worker.ledger.connection import transaction
from tamis_worker.ledger.spending import BudgetChange, Spending

D = Decimal


def budgeted(client: Client, max_cost: str) -> UUID:
    return UUID(client.submit(Filter(criteria="Is it?"), abstracts(3), max_cost=D(max_cost)).id)


async def standing(engine: AsyncEngine, batch_id: UUID) -> tuple[Decimal, Decimal]:
    """spent, reserved"""
    async with engine.connect() as connection:
        query = text("SELECT spent, reserved FROM spending WHERE batch_id = :id")
        row = (await connection.execute(query, {"id": batch_id})).one()
    return row.spent, row.reserved


async def test_the_longest_run_of_reservations_that_fits_is_granted(engine: AsyncEngine, client: Client) -> None:
    batch = budgeted(client, "1.00")
    standings = await Spending(engine).change([BudgetChange(batch, reserve=D(x)) for x in ("0.4", "0.5", "0.2", "0.1")])
    # 0.4 + 0.5 = 0.9; with 0.2 it would be 1.1, and what stands behind it is not let past
    assert [one.granted for one in standings] == [True, True, False, False]
    assert await standing(engine, batch) == (D(0), D("0.9"))
    assert (standings[0].max_cost, standings[0].spent, standings[0].reserved) == (D(1), D(0), D("0.9"))


async def test_a_budget_can_be_used_to_the_last_nanodollar(engine: AsyncEngine, client: Client) -> None:
    batch = budgeted(client, "0.000000003")
    one = D("0.000000001")
    standings = await Spending(engine).change([BudgetChange(batch, reserve=one) for _ in range(4)])
    assert [each.granted for each in standings] == [True, True, True, False]


async def test_settlements_of_a_group_make_room_for_its_reservations(engine: AsyncEngine, client: Client) -> None:
    batch = budgeted(client, "1.00")
    writer = Spending(engine)
    await writer.change([BudgetChange(batch, reserve=D("0.9"))])
    reserve = BudgetChange(batch, reserve=D("0.7"))
    settle = BudgetChange(batch, release=D("0.9"), spend=D("0.3"))
    assert [one.granted for one in await writer.change([reserve, settle])] == [True, True]
    assert await standing(engine, batch) == (D("0.3"), D("0.7"))


async def test_a_reservation_given_back_twice_makes_no_room_beyond_the_budget(
    engine: AsyncEngine, client: Client
) -> None:
    batch = budgeted(client, "1.00")
    writer = Spending(engine)
    await writer.change([BudgetChange(batch, reserve=D("0.4"))])
    again = BudgetChange(batch, release=D("0.8"), spend=D("0.3"))
    reserve = BudgetChange(batch, reserve=D("0.8"))
    # 0.3 is spent, and no less than 0 is reserved: 0.3 + 0.8 = 1.1 does not fit
    assert [state.granted for state in await writer.change([again, reserve])] == [True, False]
    assert await standing(engine, batch) == (D("0.3"), D(0))
    await writer.change([BudgetChange(batch, release=D("0.5"), reserve=D("0.2"))])
    assert await standing(engine, batch) == (D("0.3"), D("0.2"))


async def test_batches_do_not_share_budgets(engine: AsyncEngine, client: Client) -> None:
    rich, poor = budgeted(client, "10"), budgeted(client, "0.1")
    changes = [BudgetChange(poor, reserve=D(1)), BudgetChange(rich, reserve=D(1)), BudgetChange(poor, reserve=D("0.1"))]
    standings = await Spending(engine).change(changes)
    # the poor one's second request stands behind its first one, which does not fit: 1 + 0.1 > 0.1
    assert [one.granted for one in standings] == [False, True, False]
    assert await standing(engine, rich) == (D(0), D(1))


async def test_what_was_overspent_is_told_and_nothing_more_is_granted(engine: AsyncEngine, client: Client) -> None:
    batch = budgeted(client, "1")
    writer = Spending(engine)
    await writer.change([BudgetChange(batch, reserve=D("0.9"))])
    await writer.change([BudgetChange(batch, release=D("0.9"), spend=D("1.2"))])  # a prompt longer than thought
    assert await standing(engine, batch) == (D("1.2"), D(0))
    assert [one.granted for one in await writer.change([BudgetChange(batch, reserve=D("0.000000001"))])] == [False]


async def test_many_workers_at_once_never_reserve_more_than_there_is(engine: AsyncEngine, client: Client) -> None:
    batch = budgeted(client, "1.00")
    draw = random.Random(7)
    granted: list[Decimal] = []
    highest = D(0)

    async def worker() -> None:
        nonlocal highest
        writer = Spending(engine)
        for _ in range(25):
            amount = D(draw.randrange(1, 40)) / 1000
            (reply,) = await writer.change([BudgetChange(batch, reserve=amount)])
            highest = max(highest, reply.spent + reply.reserved)
            if reply.granted:
                granted.append(amount / 2)
                await writer.change([BudgetChange(batch, release=amount, spend=amount / 2)])

    await asyncio.gather(*(worker() for _ in range(5)))
    assert highest <= 1
    assert await standing(engine, batch) == (sum(granted), D(0))


class Lost:
    """Loses the reply to commits: the connection breaks before, or after, Postgres has committed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.before = self.after = 0
        monkeypatch.setattr(spending, "transaction", self._transaction)

    @asynccontextmanager
    async def _transaction(self, engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
        async with transaction(engine) as connection:
            yield connection
            if self.before:
                self.before -= 1
                await connection.rollback()
                raise LedgerUnavailable("the connection was lost")
        if self.after:
            self.after -= 1
            raise LedgerUnavailable("the connection was lost")


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "not committed"])
async def test_a_lost_reply_neither_lowers_nor_doubles_anything(
    engine: AsyncEngine, client: Client, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    batch = budgeted(client, "1.00")
    writer, lost = Spending(engine), Lost(monkeypatch)
    groups = [
        [BudgetChange(batch, reserve=D("0.3")), BudgetChange(batch, reserve=D("0.2"))],
        [BudgetChange(batch, release=D("0.3"), spend=D("0.1"))],
    ]
    for group in groups:
        lost.after, lost.before = (1, 0) if committed else (0, 1)
        with pytest.raises(LedgerUnavailable):
            await writer.change(group)
        assert [one.granted for one in await writer.change(group)] == [True] * len(group)
    assert await standing(engine, batch) == (D("0.1"), D("0.2"))


async def test_replies_lost_again_and_again_end_in_one_write(
    engine: AsyncEngine, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = budgeted(client, "1.00")
    writer, lost = Spending(engine), Lost(monkeypatch)
    lost.after = 3  # the group's, and those of two questions what became of it
    for _ in range(3):
        with pytest.raises(LedgerUnavailable):
            await writer.change([BudgetChange(batch, reserve=D("0.3"))])
    await writer.change([BudgetChange(batch, reserve=D("0.3"))])
    assert await standing(engine, batch) == (D(0), D("0.3"))


amounts = st.integers(0, 30).map(lambda cents: D(cents) / 100)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(groups=st.lists(st.lists(st.tuples(amounts, st.booleans()), min_size=1, max_size=5), max_size=8), most=amounts)
async def test_the_law_spent_and_reserved_never_pass_the_budget_and_nothing_is_lost(
    engine: AsyncEngine, client: Client, groups: list[list[tuple[Decimal, bool]]], most: Decimal
) -> None:
    """Each step asks for its amount, and settles the oldest call in flight where there is one, at half its price."""
    batch = budgeted(client, str(most))
    writer = Spending(engine)
    in_flight: list[Decimal] = []
    spent = D(0)
    for group in groups:
        changes = []
        for amount, settles in group:
            release = in_flight.pop(0) if settles and in_flight else D(0)
            spent += release / 2
            changes.append(BudgetChange(batch, reserve=amount, release=release, spend=release / 2))
        standings = await writer.change(changes)
        fits, free = [], most - spent - sum(in_flight)
        for change in changes:  # the same in plain words: from the first on, as long as they fit
            free -= change.reserve
            fits.append(free >= 0)
        assert [one.granted for one in standings] == fits
        in_flight += [change.reserve for change, fit in zip(changes, fits, strict=True) if fit]
        assert await standing(engine, batch) == (spent, sum(in_flight, D(0)))
        assert spent + sum(in_flight) <= most
