"""Bills beside the double's own account, to the nanodollar: with a prefix cache, two tiers and failures at once."""

import asyncio
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from llm_double import Double, Fault, Kind
from llm_double.account import Account
from llm_double.personalities.personality import Personality
from stage import WorkerProcess, abstracts
from tamis_producer import Batch, Client, ProducerSettings
from tamis_producer.files.price_file import known_prices
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_schemas import ErrorKind, EvaluationResult, Filter, ItemStatus, Provenance
from tamis_worker.engine.call_accounting import CallAccounting, cost_of
from tamis_worker.ledger import recovery
from tamis_worker.ledger.claims import ItemKey, claim
from tamis_worker.ledger.outcomes import ClaimOutcome, record
from tamis_worker.llm.chat import ChatAnswer, ChatRequest, Message
from tamis_worker.llm.llm import LlmClient
from tamis_worker.operations import Decided, Failure

MODEL = "double-1"
# Dollars per million tokens: no two alike, and half of each is still a whole number of nanodollars a token.
INPUT, CACHED, WRITTEN, OUTPUT = Decimal("2.14"), Decimal("0.214"), Decimal("2.662"), Decimal("10.06")
PRICES = f"""\
models:
  {MODEL}:
    input: {INPUT}
    cached_input: {CACHED}
    cache_write: {WRITTEN}
    output: {OUTPUT}
    tiers: {{flex: {{factor: 0.5}}}}
"""
FACTORS = {"default": Decimal(1), "flex": Decimal("0.5")}
CACHE = Personality("prefix_cache", block=16, minimum=64, writes=True)
LONG = "Is this about oncology, that is about tumours, their causes, their course, their care or their cure? " * 4
SCHEMA = {
    "type": "object",
    "properties": {"value": {"type": "boolean"}},
    "required": ["value"],
    "additionalProperties": False,
}

Start = Callable[..., WorkerProcess]


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text(PRICES, "utf-8")
    return path


@pytest.fixture
def client(settings: ProducerSettings, prices: Path) -> Iterator[Client]:
    with Client(settings.model_copy(update={"prices": prices})) as client:
        yield client


def billed(account: Account) -> Decimal:
    """What the double's own counts cost at these prices."""
    dollars = Decimal(0)
    for charge in account.charges:
        fresh = charge.prompt_tokens - charge.cached_tokens - charge.cache_write_tokens
        cost = (
            fresh * INPUT
            + charge.cached_tokens * CACHED
            + charge.cache_write_tokens * WRITTEN
            + charge.completion_tokens * OUTPUT
        )
        dollars += FACTORS[charge.tier] * cost / 1_000_000
    return dollars


def paid(batch: Batch) -> Decimal:
    """The sum of what stands at the items."""
    return sum((row.cost or Decimal(0) for row in batch.results()), Decimal(0))


@pytest.mark.parametrize(
    ("items", "max_cost"),
    [
        (40, None),
        pytest.param(100, None, marks=pytest.mark.night),
        pytest.param(100, Decimal(50), marks=pytest.mark.night),
    ],
)
def test_a_batch_costs_what_the_endpoint_counted_reads_and_writes_of_its_cache_included(
    client: Client, double: Double, start_worker: Start, prices: Path, items: int, max_cost: Decimal | None
) -> None:
    faults = [
        Fault(Kind.MALFORMED, probability=0.1, content="{"),
        Fault(Kind.REFUSAL, probability=0.05, seed=1),
        Fault(Kind.RATE_LIMITED, probability=0.05, seed=2),
        Fault(Kind.SERVER_ERROR, probability=0.05, seed=3),
    ]
    double.script(personalities=[CACHE, "thinks"], faults=faults)
    start_worker(prices=str(prices), concurrency="16")
    start_worker(prices=str(prices), concurrency="16")
    batch = client.submit(Filter(criteria=LONG), abstracts(items), model=MODEL, max_cost=max_cost)
    batch.wait(timeout=90)
    account = double.account()
    total = account.of(model=MODEL)
    assert (account.untold, account.of(read=False).calls) == (0, 0)
    assert total.cached_tokens > 100 * items
    assert total.cache_write_tokens > 100 * items
    summary = batch.summary()
    assert summary is not None
    told = (summary.prompt_tokens, summary.cached_tokens, summary.cache_write_tokens, summary.completion_tokens)
    assert told == (total.prompt_tokens, total.cached_tokens, total.cache_write_tokens, total.completion_tokens)
    assert summary.cost == paid(batch) == batch.status().cost
    assert summary.cost == billed(account)
    assert (summary.unpriced, summary.possibly_unbilled) == (0, 0)
    if max_cost is not None:
        budget = batch.status().budget
        assert budget is not None
        assert (budget.spent, budget.reserved) == (summary.cost, 0)


async def test_the_tier_of_each_answer_decides_its_price_whatever_was_asked_for(
    client: Client, double: Double, engine: AsyncEngine, prices: Path
) -> None:
    """300 items by turns at flex and at the standard tier; a quarter of flex is billed at the default one."""
    flex = Personality("flex_capacity", probability=0.2, bills_default=0.25)
    truncated = Fault(Kind.TRUNCATED, probability=0.1)
    double.script(personalities=[CACHE, flex], faults=[truncated])
    known = known_prices(prices)
    batch = client.submit(Filter(criteria="Is it?"), abstracts(300), model=MODEL)
    await recovery.renew_lease(engine, WorkerReport(id="w"), lease=60)
    keys = [ItemKey(UUID(batch.id), place) for place in range(300)]
    claims = [one for one in await claim(engine, keys, worker="w") if one is not None]
    llm = LlmClient(double.base_url, "", timeout=10.0, connections=16)
    at_once = asyncio.Semaphore(16)

    async def item(place: int) -> ClaimOutcome:
        """A question, and another where the first came to nothing; with the bill as a conversation draws it."""
        accounting = CallAccounting()
        options = {"service_tier": "flex"} if place % 2 else {}
        text = f"{LONG}\nRecord number {place}."
        request = ChatRequest(MODEL, (Message("user", text),), "x", SCHEMA, None, 100, options=options)
        for _ in range(2):
            async with at_once:
                reply = await llm.ask(request)
            accounting.note(reply, cost_of(known, MODEL, reply))
            if isinstance(reply, ChatAnswer):
                break
        provenance = Provenance(
            usage=accounting.usage,
            cost=accounting.cost,
            tier=accounting.tier,
            calls=accounting.calls,
            unanswered=accounting.unanswered,
        )
        decided = Decided(EvaluationResult(value=True, confidence=0.9))
        failed = Failure(ErrorKind.TRUNCATED, "cut off")
        return ClaimOutcome(claims[place], decided if isinstance(reply, ChatAnswer) else failed, provenance)

    try:
        outcomes = await asyncio.gather(*(item(place) for place in range(300)))
    finally:
        await llm.close()
    assert all(await record(engine, outcomes))
    account = double.account()
    assert account.of(tier="flex").calls > 50
    assert account.of(tier="default").calls > 150
    assert account.of().cached_tokens > 0
    assert paid(batch) == batch.status().cost == billed(account)
    decided = [row.provenance for row in batch.results() if row.status == ItemStatus.DECIDED]
    assert {provenance.tier for provenance in decided if provenance is not None} == {"flex", "default"}
