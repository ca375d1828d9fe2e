"""Where workers keep what answers have taught them: one contract for the ledger's store and that of one process."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import text

from tamis_worker.ledger.connection import connect, transaction
from tamis_worker.ledger.dialects import LedgerDialects
from tamis_worker.llm.chat import Rung
from tamis_worker.llm.dialect import RungState
from tamis_worker.llm.dialect_store import CLIMB_AFTER, DialectStore, Leased, MemoryDialects, endpoint_name

HOUR = 3600.0
STEPPED = RungState(Rung.JSON_OBJECT, unusable=1)
PROVEN = RungState(Rung.TEXT, proven=True)


@dataclass(frozen=True)
class Kept:
    """A store, and a way to let time pass."""

    store: DialectStore
    age: Callable[[float], Awaitable[None]]  # seconds


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=["memory", "ledger"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    if request.param == "memory":
        clock = Clock()

        async def later(seconds: float) -> None:
            clock.now += seconds

        yield Kept(MemoryDialects(clock), later)
        return
    engine = connect(request.getfixturevalue("database_url"), single_statements=True)

    async def earlier(seconds: float) -> None:
        moved = "UPDATE dialects SET changed_at = changed_at - :by, probe_until = probe_until - :by"
        async with transaction(engine) as connection:
            await connection.execute(text(moved.replace(":by", "make_interval(secs => :by)")), {"by": seconds})

    yield Kept(LedgerDialects(engine, "http://double/v1"), earlier)
    await engine.dispose()


async def test_of_a_model_that_was_never_asked_nothing_is_known(kept: Kept) -> None:
    assert await kept.store.look("m") is None


async def test_what_is_put_there_is_what_is_known_of_that_model_alone(kept: Kept) -> None:
    assert await kept.store.exchange("m", RungState(), STEPPED) == STEPPED
    assert await kept.store.look("m") == STEPPED
    assert await kept.store.look("n") is None


async def test_an_exchange_takes_the_place_of_what_was_seen_and_of_nothing_else(kept: Kept) -> None:
    await kept.store.exchange("m", RungState(), STEPPED)
    for seen in (RungState(), replace(STEPPED, unusable=2), replace(STEPPED, proven=True)):
        assert await kept.store.exchange("m", seen, PROVEN) == STEPPED
    assert await kept.store.exchange("m", STEPPED, PROVEN) == PROVEN


async def test_one_call_at_a_time_finds_out(kept: Kept) -> None:
    assert await kept.store.lease("m", "one") == Leased(RungState(), granted=True)
    assert await kept.store.lease("m", "two") == Leased(RungState(), granted=False)
    assert await kept.store.lease("n", "two") == Leased(RungState(), granted=True)
    await kept.store.release("m", "two")  # it is not its own
    assert not (await kept.store.lease("m", "two")).granted
    await kept.store.release("m", "one")
    assert (await kept.store.lease("m", "two")).granted


async def test_a_lease_outlives_a_step_and_ends_by_itself(kept: Kept) -> None:
    await kept.store.lease("m", "one")
    await kept.store.exchange("m", RungState(), STEPPED)
    await kept.age(29.0)
    assert await kept.store.lease("m", "two") == Leased(STEPPED, granted=False)
    await kept.age(2.0)
    assert await kept.store.lease("m", "two") == Leased(STEPPED, granted=True)


async def test_there_is_no_lease_where_nothing_is_to_be_found_out(kept: Kept) -> None:
    await kept.store.exchange("m", RungState(), PROVEN)
    assert await kept.store.lease("m", "one") == Leased(PROVEN, granted=False)


@pytest.mark.parametrize(
    ("known", "hours", "due"),
    [
        (PROVEN, 23.9, False),
        (PROVEN, 24.1, True),
        (STEPPED, 24.1, True),
        (RungState(Rung.STRICT, proven=True), 999.0, False),
        (RungState(Rung.BOUNDED, proven=True), 999.0, False),
    ],
)
async def test_a_rung_below_the_first_is_due_after_a_day(kept: Kept, known: RungState, hours: float, due: bool) -> None:
    await kept.store.exchange("m", RungState(), known)
    await kept.age(hours * HOUR)
    learned = await kept.store.look("m")
    assert learned is not None
    assert learned.due is due
    assert (await kept.store.lease("m", "one")).granted is (due or not known.proven)


async def test_an_exchange_begins_the_day_anew(kept: Kept) -> None:
    await kept.store.exchange("m", RungState(), PROVEN)
    await kept.age(CLIMB_AFTER + HOUR)
    assert not (await kept.store.exchange("m", PROVEN, PROVEN)).due
    learned = await kept.store.look("m")
    assert learned is not None
    assert not learned.due


async def test_a_model_may_have_any_name(kept: Kept) -> None:
    name = "a/\N{GREEK SMALL LETTER ALPHA}:'\"\x00; DROP"
    assert (await kept.store.lease(name, "one")).granted
    assert await kept.store.look(name) == RungState()


async def test_endpoints_share_nothing(database_url: str) -> None:
    engine = connect(database_url, single_statements=True)
    here, there = (LedgerDialects(engine, f"http://{host}/v1") for host in ("here", "there"))
    await here.exchange("m", RungState(), PROVEN)
    assert await there.look("m") is None
    await engine.dispose()


async def test_a_rung_of_a_later_release_is_the_lowest_to_this_one(database_url: str) -> None:
    engine = connect(database_url, single_statements=True)
    put = "INSERT INTO dialects (endpoint, model, rung, proven) VALUES ('e', 'm', 'grammar', true)"
    async with transaction(engine) as connection:
        await connection.execute(text(put))
    assert await LedgerDialects(engine, "e").look("m") == RungState(Rung.REMINDED, proven=True)
    await engine.dispose()


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://API.openai.com/v1/", "https://api.openai.com/v1"),
        ("http://user:secret@llm:8000/v1", "http://llm:8000/v1"),
        ("https://x.example/v1?key=secret#here", "https://x.example/v1"),
    ],
)
def test_an_endpoints_name_holds_no_secret(url: str, name: str) -> None:
    assert endpoint_name(url) == name
