"""A worker's side of budgets: reserving, waiting for room, settling; the ledger is a pure model of one row a batch."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from decimal import Decimal
from uuid import UUID, uuid4

import pytest
from sqlalchemy.exc import DataError

from tamis_schemas import (
    NO_STEERING,
    ErrorKind,
    Filter,
    ModelPrice,
    Prices,
    Steering,
    Tier,
    TierPrice,
    Usage,
)
from tamis_worker.engine import budget as module
from tamis_worker.engine.budget import (
    BudgetReservations,
    OverBudget,
    Reservation,
    reserved_tokens,
)
from tamis_worker.engine.call_accounting import CallAccounting, cost_of, is_unanswered, usage_of
from tamis_worker.ledger.batches import BatchTerms
from tamis_worker.ledger.spending import BudgetChange, BudgetState
from tamis_worker.llm.chat import CallError, ChatAnswer, Reply

D = Decimal
HALF = {"flex": TierPrice(factor=D("0.5"))}
PRICES = Prices({"m": ModelPrice(input=D(1), output=D(10), tiers=HALF), "free": ModelPrice(input=D(0), output=D(0))})
PROMPT, ANSWER = 100_000, 10_000  # 100,000 x 0.000001 + 10,000 x 0.00001 = 0.1 + 0.1 = 0.2 dollars
EACH = D("0.2")
BOUND = 5.0  # s; nothing here takes so long unless it hangs


class Row:
    """The one row of a batch, as `Spending` keeps it."""

    def __init__(self, max_cost: str) -> None:
        self.max_cost = D(max_cost)
        self.spent = self.reserved = D(0)
        self.looked = 0
        self.gate = asyncio.Event()  # writes wait for it
        self.gate.set()
        self.came = asyncio.Event()  # a write has come
        self.refusal: Exception | None = None

    async def change(self, changes: Sequence[BudgetChange]) -> Sequence[BudgetState]:
        self.came.set()
        await self.gate.wait()
        if self.refusal is not None:
            raise self.refusal
        self.looked += 1
        self.spent += sum(change.spend for change in changes)
        self.reserved -= sum(change.release for change in changes)
        fits: list[bool] = []
        for change in changes:
            fit = all(fits) and self.spent + self.reserved + change.reserve <= self.max_cost
            self.reserved += change.reserve if fit else 0
            fits.append(fit)
        return [BudgetState(fit, self.max_cost, self.spent, self.reserved) for fit in fits]


@pytest.fixture
def row() -> Row:
    return Row("1.00")


@pytest.fixture
def patience() -> float:
    return 60.0


@pytest.fixture
async def budget(row: Row, patience: float) -> AsyncIterator[BudgetReservations]:
    budget = BudgetReservations(row, PRICES, patience=patience)  # type: ignore[arg-type]  # the one method of it that is used
    await budget.commits[0].start()
    yield budget
    await closed(budget)


async def closed(budget: BudgetReservations) -> None:
    await budget.settled()
    await budget.commits[0].close()


def terms(*, budgeted: bool = True, batch_id: UUID | None = None) -> BatchTerms:
    return BatchTerms(batch_id or uuid4(), Filter(criteria="Is it?"), "m", budgeted=budgeted)


TERMS = terms()


async def reserve(budget: BudgetReservations) -> Reservation:
    reservation = await asyncio.wait_for(budget.reserve(TERMS, "m", PROMPT, ANSWER), BOUND)
    assert reservation is not None
    return reservation


async def test_a_batch_without_a_budget_costs_no_look(budget: BudgetReservations, row: Row) -> None:
    assert await budget.reserve(terms(budgeted=False), "unknown", PROMPT, ANSWER) is None
    await budget.settle(None, Usage(1, 1))
    budget.give_back(None)
    assert row.looked == 0


async def test_the_most_that_a_call_may_cost_is_held_until_its_cost_is_known(
    budget: BudgetReservations, row: Row
) -> None:
    one = await reserve(budget)
    assert (one.amount, row.reserved, row.spent) == (EACH, EACH, D(0))
    await budget.settle(one, Usage(50_000, 1_000))  # 0.05 + 0.01
    assert (row.reserved, row.spent) == (D(0), D("0.06"))


async def test_the_price_of_the_tier_that_the_answer_names_is_settled(budget: BudgetReservations, row: Row) -> None:
    one = await budget.reserve(TERMS, "m", PROMPT, ANSWER, "flex")
    assert one is not None
    assert one.amount == EACH  # it may be answered at the standard tier
    await budget.settle(one, Usage(50_000, 1_000), "flex")  # (0.05 + 0.01) / 2
    assert (row.reserved, row.spent) == (D(0), D("0.03"))


async def test_an_answer_at_a_tier_without_a_price_keeps_its_reservation(budget: BudgetReservations, row: Row) -> None:
    await budget.settle(await reserve(budget), Usage(50_000, 1_000), "scale")
    assert (row.reserved, row.spent) == (EACH, D(0))


async def test_a_tier_without_a_price_is_not_asked(budget: BudgetReservations, row: Row) -> None:
    with pytest.raises(OverBudget, match=r"the price of the model 'm' at the tier 'scale' is unknown, so"):
        await budget.reserve(TERMS, "m", PROMPT, ANSWER, "scale")
    assert row.looked == 0


async def test_a_model_without_a_price_is_not_asked(budget: BudgetReservations, row: Row) -> None:
    with pytest.raises(OverBudget, match=r"the price of the model 'unknown'.*TAMIS_PRICES"):
        await budget.reserve(TERMS, "unknown", PROMPT, ANSWER)
    assert row.looked == 0


async def test_a_free_model_fits_into_a_budget_of_nothing(budget: BudgetReservations, row: Row) -> None:
    row.max_cost = D(0)
    assert await budget.reserve(TERMS, "free", PROMPT, ANSWER) is not None


async def test_where_the_budget_is_spent_it_says_so_with_figures(budget: BudgetReservations, row: Row) -> None:
    row.spent = D("0.98")
    with pytest.raises(OverBudget, match=r"^\$0\.98 of \$1\.00 is spent; the next call may cost \$0\.20$"):
        await reserve(budget)


async def test_calls_in_flight_are_waited_for_before_a_budget_is_called_spent(
    budget: BudgetReservations, row: Row
) -> None:
    """Five calls of 0.2 fill the budget; each of them costs 0.06, so that more fit once they are settled."""
    held = [await reserve(budget) for _ in range(5)]
    row.came.clear()
    waiting = [asyncio.create_task(reserve(budget)) for _ in range(4)]
    await asyncio.wait_for(row.came.wait(), BOUND)
    assert not any(task.done() for task in waiting)
    for one in held:
        await budget.settle(one, Usage(50_000, 1_000))
    # 5 x 0.06 = 0.3 are spent: 0.7 are left for three calls of 0.2, and the fourth waits for them
    late = await asyncio.wait_for(asyncio.gather(*waiting[:3]), BOUND)
    assert (row.spent, row.reserved) == (D("0.3"), D("0.6"))
    for one in late:
        await budget.settle(one, Usage(200_000, 0))  # 0.2 each
    with pytest.raises(OverBudget, match=r"^\$0\.90 of \$1\.00 is spent"):
        await asyncio.wait_for(waiting[3], BOUND)


async def test_the_last_dollar_is_waited_for_while_another_call_holds_it(
    budget: BudgetReservations, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK", 0.001)
    row.spent, row.reserved = D("0.8"), D("0.1")  # 0.8 + 0.2 would just fit
    waiting = asyncio.create_task(reserve(budget))
    for _ in range(3):  # it looks again and again
        row.came.clear()
        await asyncio.wait_for(row.came.wait(), BOUND)
    row.reserved = D(0)  # a call of another worker's has ended and cost nothing
    assert (await waiting).amount == EACH
    assert (row.spent, row.reserved) == (D("0.8"), EACH)


@pytest.mark.parametrize("refused", [True, False])
async def test_what_the_ledger_refuses_to_settle_stays_reserved_and_is_told(
    budget: BudgetReservations, row: Row, caplog: pytest.LogCaptureFixture, refused: bool
) -> None:
    one = await reserve(budget)
    row.refusal = DataError("UPDATE", {}, Exception("out of range")) if refused else None
    await budget.settle(one, Usage(50_000, 1_000))
    assert (row.reserved == EACH) is refused
    assert ("could not be settled, so its reservation stays" in caplog.text) is refused


async def test_those_who_wait_do_not_all_ask_the_ledger(budget: BudgetReservations, row: Row) -> None:
    held = [await reserve(budget) for _ in range(5)]
    before = row.looked
    row.came.clear()
    waiting = [asyncio.create_task(reserve(budget)) for _ in range(200)]
    await asyncio.wait_for(row.came.wait(), BOUND)
    for _ in range(3):
        await budget.settle(held.pop(), Usage(0, 100))
    assert row.looked - before < 20
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.parametrize("patience", [0.0])
async def test_what_dead_workers_hold_is_not_waited_for_longer_than_a_call_takes(
    budget: BudgetReservations, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK", 0.001)
    row.spent, row.reserved = D("0.5"), D("0.4")
    with pytest.raises(
        OverBudget, match=r"\$0\.50 of \$1\.00 is spent and \$0\.40 reserved for calls with an unknown end"
    ):
        await reserve(budget)


@pytest.mark.parametrize(
    ("steering", "patience", "flex_patience"), [(NO_STEERING, 0.0, 600.0), (Steering(tier=Tier.FLEX), 600.0, 0.0)]
)
async def test_it_is_waited_for_as_long_as_a_call_at_the_batchs_tier_may_take(
    row: Row, monkeypatch: pytest.MonkeyPatch, steering: Steering, patience: float, flex_patience: float
) -> None:
    monkeypatch.setattr(module, "LOOK", 0.001)
    row.spent, row.reserved = D("0.5"), D("0.4")
    budget = BudgetReservations(row, PRICES, patience=patience, flex_patience=flex_patience)  # type: ignore[arg-type]  # see above
    await budget.commits[0].start()
    asked = replace(TERMS, steering=steering)
    with pytest.raises(OverBudget):
        await asyncio.wait_for(budget.reserve(asked, "m", PROMPT, ANSWER), BOUND)
    await closed(budget)


class RowBehindOutages(Row):
    """Each reply comes after an outage of 1,000 s by the loop's clock; the fourth one finds room."""

    def __init__(self) -> None:
        super().__init__("1.00")
        self.spent, self.reserved = D("0.5"), D("0.4")
        self.away = 0.0

    async def change(self, changes: Sequence[BudgetChange]) -> Sequence[BudgetState]:
        self.away += 1_000.0
        if self.looked == 3:
            self.reserved = D(0)
        return await super().change(changes)


async def test_the_time_for_which_the_ledger_is_away_is_no_part_of_the_patience(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row, loop = RowBehindOutages(), asyncio.get_running_loop()
    clock = loop.time
    monkeypatch.setattr(loop, "time", lambda: clock() + row.away)
    monkeypatch.setattr(module, "LOOK", 0.001)
    budget = BudgetReservations(row, PRICES, patience=600.0)  # type: ignore[arg-type]  # see above
    await budget.commits[0].start()
    assert await budget.reserve(TERMS, "m", PROMPT, ANSWER) is not None
    assert row.looked == 4
    await closed(budget)


async def test_a_call_whose_end_nobody_knows_stays_reserved(budget: BudgetReservations, row: Row) -> None:
    one = await reserve(budget)
    await budget.settle(one, None)
    assert (row.reserved, row.spent) == (EACH, D(0))


async def test_what_was_not_called_is_given_back(budget: BudgetReservations, row: Row) -> None:
    budget.give_back(await reserve(budget))
    await closed(budget)
    assert (row.reserved, row.spent) == (D(0), D(0))


async def test_cancelled_while_the_ledger_refuses_it_nothing_of_the_others_is_given_back(
    budget: BudgetReservations, row: Row
) -> None:
    row.reserved = D("0.9")
    row.gate.clear()
    task = asyncio.create_task(reserve(budget))
    await asyncio.wait_for(row.came.wait(), BOUND)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    row.gate.set()
    assert await budget.reserve(TERMS, "m", PROMPT // 2, ANSWER // 2) is not None  # goes through after it
    await closed(budget)
    assert (row.reserved, row.spent) == (D("1.0"), D(0))


async def test_cancelled_while_the_ledger_grants_it_nothing_stays_reserved(
    budget: BudgetReservations, row: Row
) -> None:
    row.gate.clear()
    task = asyncio.create_task(reserve(budget))
    await asyncio.wait_for(row.came.wait(), BOUND)  # it is with the ledger now
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    row.gate.set()
    await reserve(budget)  # goes through after it
    await closed(budget)
    assert row.reserved == EACH


@pytest.mark.parametrize(
    ("characters", "tokens"),
    [
        ([4_000, 2_000], 3_000),  # a token for every two characters: twice what English has
        ([1_001], 500),
        ([1, 1], 1),
        ([], 0),
    ],
)
def test_a_prompt_is_reserved_with_a_token_for_every_two_characters(characters: list[int], tokens: int) -> None:
    assert reserved_tokens(characters) == tokens


ANSWERED = ChatAnswer("{}", "m-2024-05-13", Usage(1000, 100), "stop", 5)


@pytest.mark.parametrize(
    ("reply", "usage"),
    [
        (ANSWERED, Usage(1000, 100)),
        (ChatAnswer("{}", "m", Usage(), "stop", 5), None),  # the endpoint counts nothing
        (CallError(ErrorKind.REFUSED, "no", 200, usage=Usage(1000, 5)), Usage(1000, 5)),
        (CallError(ErrorKind.EMPTY, "no choice", 200), None),
        (CallError(ErrorKind.TIMEOUT, "late"), None),
        (CallError(ErrorKind.CONNECTION, "reset"), None),
        (CallError(ErrorKind.SERVER, "not JSON"), None),
        (CallError(ErrorKind.CONNECTION, "refused", sent=False), Usage()),
        (CallError(ErrorKind.RATE_LIMITED, "429", 429), Usage()),
        (CallError(ErrorKind.SERVER, "500", 500), Usage()),
        (CallError(ErrorKind.AUTHENTICATION, "401", 401), Usage()),
    ],
)
def test_only_what_cannot_have_been_paid_for_is_free(reply: Reply, usage: Usage | None) -> None:
    assert usage_of(reply) == usage


@pytest.mark.parametrize(
    ("asked", "reply", "cost"),
    [
        ("m", ANSWERED, "0.002"),  # 1000 x 0.000001 + 100 x 0.00001
        ("deployment", ANSWERED, "0.002"),  # the answer names a model whose price is known
        ("deployment", ChatAnswer("{}", "x", Usage(1, 1), "stop", 5), None),
        ("m", ChatAnswer("{}", "m", Usage(), "stop", 5), None),
        ("free", ChatAnswer("{}", "m", Usage(), "stop", 5), "0"),
        ("m", CallError(ErrorKind.REFUSED, "no", 200, usage=Usage(1000, 0)), "0.001"),
        ("m", CallError(ErrorKind.TIMEOUT, "late"), "0"),
        ("unknown", CallError(ErrorKind.SERVER, "500", 500), "0"),
        ("m", replace(ANSWERED, tier="default"), "0.002"),
        ("m", replace(ANSWERED, tier="flex"), "0.001"),
        ("deployment", replace(ANSWERED, tier="flex"), "0.001"),
        ("m", replace(ANSWERED, tier="scale"), None),
        ("free", replace(ANSWERED, tier="flex"), None),  # nothing is stated of the tier
        ("m", CallError(ErrorKind.REFUSED, "no", 200, usage=Usage(1000, 0), tier="flex"), "0.0005"),
    ],
)
def test_failed_calls_cost_what_was_counted_and_unknown_prices_are_never_nothing(
    asked: str, reply: Reply, cost: str | None
) -> None:
    assert cost_of(PRICES, asked, reply) == (None if cost is None else D(cost))


@pytest.mark.parametrize(
    ("reply", "unanswered"),
    [
        (CallError(ErrorKind.TIMEOUT, "late"), True),
        (CallError(ErrorKind.CONNECTION, "broken"), True),
        (CallError(ErrorKind.SERVER, "half an answer", 200), True),  # 200, and nobody counted its tokens
        (CallError(ErrorKind.CONNECTION, "no route", sent=False), False),
        (CallError(ErrorKind.RATE_LIMITED, "429", 429, no_capacity=True), False),
        (CallError(ErrorKind.TRUNCATED, "cut", 200, usage=Usage(10, 10)), False),
        (ANSWERED, False),
        (ChatAnswer("{}", "m", Usage(), "stop", 5), False),  # it was answered: its price is what is not known
    ],
)
def test_a_call_whose_end_nobody_knows_is_told_from_one_that_was_refused(reply: Reply, unanswered: bool) -> None:
    assert is_unanswered(reply) is unanswered
    accounting = CallAccounting()
    accounting.note(reply, None)
    assert (accounting.calls, accounting.unanswered) == (1, int(unanswered))


def test_the_tier_of_the_last_answer_is_kept_and_refusals_name_none() -> None:
    accounting = CallAccounting()
    accounting.note(replace(ANSWERED, tier="flex"), D(0))
    accounting.note(CallError(ErrorKind.RATE_LIMITED, "429", 429), D(0))
    assert accounting.tier == "flex"
    accounting.note(replace(ANSWERED, tier=None), D(0))
    assert accounting.tier is None
