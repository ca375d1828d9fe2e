"""The shared limit on a real server. Several limiters stand for several processes: they share nothing but Redis."""

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from limit_world.formulas import request_pace, token_pace
from tamis_cli.embedded.valkey import Valkey
from tamis_schemas.batches import wire
from tamis_worker.limiter.allotment import FRESH
from tamis_worker.limiter.gcra import AHEAD
from tamis_worker.limiter.limiter import Limiter, Limits, Permit
from tamis_worker.limiter.script import SCRIPT, LimiterReply, LimiterRequest, SharedLimitState

SOON = 10.0  # seconds; a bound for what takes milliseconds on a quiet machine
NOT_YET = 0.3  # seconds in which nothing may happen
SOON_BETWEEN_CALLS = 0.05  # seconds between two calls that follow each other
FREE = Limits(rpm=None, tpm=None, concurrency=1_000)

T = TypeVar("T")
NewLimiter = Callable[..., Awaitable[Limiter]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with Valkey(tmp_path_factory.mktemp("limiter")) as running:
        yield running


@pytest.fixture
async def redis(server: Valkey) -> AsyncIterator[Redis]:
    async with Redis.from_url(server.url) as client:
        yield client


@pytest.fixture
def key() -> str:
    return wire.limiter_key("https://llm.example/v1", f"model-{uuid4().hex[:8]}")


@pytest.fixture
async def limiter(redis: Redis, key: str) -> AsyncIterator[NewLimiter]:
    """Opens limiters; each is its own holder. All are closed at the end."""
    opened: list[Limiter] = []

    async def new(limits: Limits, *, at: str = key, lease: float = 15.0) -> Limiter:
        one = Limiter(redis, at, limits, holder=f"holder-{len(opened)}", lease=lease)
        await one.start()
        opened.append(one)
        return one

    yield new
    for one in opened:
        await one.close()


async def soon(awaited: Awaitable[T]) -> T:
    return await asyncio.wait_for(awaited, SOON)


async def granted(limiter: Limiter, estimate: int = 1, *, within: float = NOT_YET) -> bool:
    """Whether a permit is granted within a moment; it is given back."""
    try:
        permit = await asyncio.wait_for(limiter.acquire(estimate), within)
    except TimeoutError:
        return False
    await limiter.release(permit, None)
    return True


async def script_calls(redis: Redis) -> int:
    return int((await redis.info("commandstats"))["cmdstat_evalsha"]["calls"])


async def redis_time(redis: Redis) -> int:
    seconds, micro = await redis.time()
    return int(seconds) * 1_000_000 + int(micro)


@dataclass
class Gauge:
    """How many are inside at once, and how many were at most."""

    inside: int = 0
    most: int = 0
    turns: int = 0
    served: dict[int, int] = field(default_factory=dict)

    @asynccontextmanager
    async def hold(self, limiter: Limiter, estimate: int = 1) -> AsyncIterator[Permit]:
        permit = await limiter.acquire(estimate)
        self.inside += 1
        self.turns += 1
        self.served[id(limiter)] = self.served.get(id(limiter), 0) + 1
        self.most = max(self.most, self.inside)
        try:
            yield permit
        finally:
            self.inside -= 1
            await limiter.release(permit, estimate)


# Concurrency


async def test_concurrency_is_shared_by_all_processes_and_never_exceeded(limiter: NewLimiter) -> None:
    limits = Limits(rpm=None, tpm=None, concurrency=7)
    several = [await limiter(limits) for _ in range(3)]
    gauge = Gauge()

    async def call(one: Limiter) -> None:
        async with gauge.hold(one):
            await asyncio.sleep(random.random() * 0.01)

    await soon(asyncio.gather(*(call(one) for one in several for _ in range(60))))
    assert gauge.turns == 180
    assert gauge.most == 7


async def test_permits_are_granted_in_the_order_of_asking(limiter: NewLimiter) -> None:
    one = await limiter(Limits(rpm=None, tpm=None, concurrency=1))
    served: list[int] = []

    async def call(number: int) -> None:
        permit = await one.acquire(number)
        served.append(number)
        await one.release(permit, None)

    await soon(asyncio.gather(*(call(number) for number in range(20))))
    assert served == list(range(20))


@pytest.mark.parametrize("concurrency", [1, 4])
async def test_a_process_that_comes_later_gets_its_share(limiter: NewLimiter, concurrency: int) -> None:
    limits = Limits(rpm=None, tpm=None, concurrency=concurrency)
    first, second = await limiter(limits), await limiter(limits)
    gauge = Gauge()
    stop = asyncio.Event()

    async def greedy(one: Limiter) -> None:
        while not stop.is_set():
            async with gauge.hold(one):
                await asyncio.sleep(0)

    greedy_calls = [asyncio.create_task(greedy(first)) for _ in range(20)]
    for _ in range(5):
        async with asyncio.timeout(SOON), gauge.hold(second):
            pass
    stop.set()
    await soon(asyncio.gather(*greedy_calls))
    assert gauge.most <= concurrency


async def test_a_dead_process_gives_its_permits_back_within_its_lease(redis: Redis, key: str) -> None:
    limits = Limits(rpm=None, tpm=None, concurrency=2)
    dying = Limiter(redis, key, limits, holder="dying", lease=0.6)
    await dying.start()
    for _ in range(2):
        await soon(dying.acquire(1))
    living = Limiter(redis, key, limits, holder="living", lease=15)
    await living.start()
    assert not await granted(living)
    assert dying._pump is not None
    dying._pump.cancel()  # what a kill leaves: no heartbeat, no farewell
    permit = await soon(living.acquire(1))
    await living.release(permit, None)
    await living.close()


async def test_a_living_process_keeps_its_permits_beyond_its_lease(limiter: NewLimiter) -> None:
    limits = Limits(rpm=None, tpm=None, concurrency=1)
    holding = await limiter(limits, lease=1.0)
    permit = await soon(holding.acquire(1))
    other = await limiter(limits)
    assert not await granted(other, within=2.0)
    await holding.release(permit, None)
    assert await granted(other, within=SOON)


async def test_close_gives_everything_back_at_once_and_cancels_who_waits(limiter: NewLimiter) -> None:
    limits = Limits(rpm=None, tpm=None, concurrency=2)
    leaving, staying = await limiter(limits), await limiter(limits)
    permit = await soon(leaving.acquire(1))
    await soon(leaving.acquire(1))
    waiting = asyncio.create_task(leaving.acquire(1))
    assert not await granted(staying)
    await soon(leaving.close())
    assert await granted(staying, within=SOON)
    assert waiting.cancelled() or (await asyncio.wait([waiting], timeout=SOON))[0].pop().cancelled()
    await leaving.release(permit, None)  # too late, and harmless
    with pytest.raises(RuntimeError, match="not open"):
        await leaving.acquire(1)


async def test_a_cancelled_acquire_leaks_nothing(limiter: NewLimiter, redis: Redis, key: str) -> None:
    one = await limiter(Limits(rpm=None, tpm=None, concurrency=5))
    for pause in (0, 0, 0.001, 0.002, 0.005, 0.01) * 5:
        calls = [asyncio.create_task(one.acquire(1)) for _ in range(12)]
        await asyncio.sleep(pause)
        for call in calls:
            call.cancel()
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(outcome, Permit):
                await one.release(outcome, None)
    permits = [await soon(one.acquire(1)) for _ in range(5)]
    assert not await granted(one)
    for permit in permits:
        await one.release(permit, None)
        await one.release(permit, None)  # a second time changes nothing
    assert await granted(one, within=SOON)


async def test_a_permit_granted_in_the_moment_of_cancelling_comes_back(limiter: NewLimiter) -> None:
    one = await limiter(Limits(rpm=None, tpm=None, concurrency=2))
    second: asyncio.Task[Permit]

    async def first() -> None:
        await one.acquire(1)
        second.cancel()  # granted in the same round trip, but not awake yet

    both = [asyncio.create_task(first()), second := asyncio.create_task(one.acquire(1))]
    await soon(asyncio.wait(both))
    assert second.cancelled()
    await soon(one.acquire(1))
    assert not await granted(one)


# Rates


async def test_requests_follow_the_pace_for_all_processes_together(limiter: NewLimiter, redis: Redis) -> None:
    limits = Limits(rpm=6_000, tpm=None, concurrency=1_000)
    several = [await limiter(limits) for _ in range(3)]
    pace = request_pace(6_000)
    begun = await redis_time(redis)
    permits = await soon(asyncio.gather(*(one.acquire(1) for one in several for _ in range(90))))
    elapsed = await redis_time(redis) - begun
    assert len(permits) == 270
    # 30 at once, the other 240 at 10.15 ms each: 2.4 s. The last ones were granted before they were due.
    assert 30 + elapsed / pace.interval >= 270


async def test_no_window_of_redis_time_holds_more_permits_than_the_pace_allows(redis: Redis, key: str) -> None:
    due: list[tuple[float, float]] = []  # from and to when each permit was due
    callers = [RawHolder(redis, key, f"raw-{n}", Limits(rpm=6_000, tpm=None, concurrency=10_000)) for n in range(4)]
    end = await redis_time(redis) + 1_500_000

    async def greedy(caller: "RawHolder") -> None:
        while (now := await redis_time(redis)) < end:
            reply = await caller.call(ask=3, each=1)
            after = await redis_time(redis)  # the script read its clock between the two
            due.extend((now + delay * 1e6, after + delay * 1e6) for delay in reply.delays)

    await soon(asyncio.gather(*(greedy(caller) for caller in callers)))
    due.sort()
    interval = request_pace(6_000).interval
    assert len(due) > 170  # of 1.5 s and those ahead: 30 + 200 / 10.15 ms
    for first in range(len(due)):
        latest = 0.0
        for last in range(first, len(due)):
            latest = max(latest, due[last][1])
            assert last - first + 1 <= 30 + (latest - due[first][0]) / interval


async def test_tokens_are_reserved_settled_and_given_back(redis: Redis, key: str) -> None:
    # 60,000 tokens a minute: 300 at once, then one every 60.6 s / 59,700 = 1,015 us.
    caller = RawHolder(redis, key, "raw", Limits(rpm=None, tpm=60_000, concurrency=100))
    interval = token_pace(60_000).interval / 1e6
    first = await caller.call(ask=1, each=250)
    assert first.delays == (0.0,)
    assert first.shared.tokens.lead == pytest.approx(250 * interval, abs=1e-5)
    second = await caller.call(ask=1, each=250)
    # What is paid for until then, and 250 more, less the 300 of the burst.
    assert second.delays[0] == pytest.approx(second.shared.tokens.lead - 300 * interval, abs=1e-5)
    back = await caller.call(ask=0, settle=-240)
    owed = await caller.call(ask=0, settle=500)
    assert owed.shared.tokens.lead - back.shared.tokens.lead == pytest.approx(500 * interval, abs=SOON_BETWEEN_CALLS)


async def test_an_estimate_beyond_the_burst_is_granted_alone_and_paid_afterwards(redis: Redis, key: str) -> None:
    caller = RawHolder(redis, key, "raw", Limits(rpm=None, tpm=6_000, concurrency=100))
    reply = await caller.call(ask=2, first=3_000, each=1)
    assert reply.delays == (0.0,)
    # 3,000 are owed; one more token may be asked for half a second before no more than 29 of the burst's 30 are.
    interval = token_pace(6_000).interval / 1e6
    assert reply.wait == pytest.approx((3_000 + 1 - 30) * interval - AHEAD, abs=1e-3)


async def test_used_tokens_come_back_through_release(limiter: NewLimiter) -> None:
    one = await limiter(Limits(rpm=None, tpm=2_400, concurrency=100))  # 12 at once, one every 25 ms
    for _ in range(20):  # 240 tokens would take 6 s
        await one.release(await soon(one.acquire(12)), 0)  # a cached answer: nothing was used
    held = [await soon(one.acquire(100)) for _ in range(2)]
    assert not await granted(one, 100)
    assert len(held) == 2


async def test_a_block_holds_for_everybody_and_is_never_shortened(limiter: NewLimiter, redis: Redis, key: str) -> None:
    blocking, other = await limiter(FREE), await limiter(FREE)
    assert await granted(other, within=SOON)
    begun = await redis_time(redis)
    await soon(blocking.block(0.8))
    until = int(await redis.hget(f"{key}:rate", "blocked") or 0)
    await soon(other.block(0.01))
    assert int(await redis.hget(f"{key}:rate", "blocked") or 0) >= until  # before the first says its own again
    assert not await granted(other)
    assert not await granted(blocking)
    await soon(asyncio.gather(blocking.acquire(1), other.acquire(1)))
    assert await redis_time(redis) - begun >= 800_000


async def test_models_do_not_throttle_each_other(limiter: NewLimiter, key: str) -> None:
    limits = Limits(rpm=1, tpm=None, concurrency=1)
    one, other = await limiter(limits), await limiter(limits, at=f"{key}-other")
    await soon(one.acquire(1))
    await soon(one.block(60))
    assert not await granted(one)
    assert await granted(other, within=SOON)


# Faults


@pytest.mark.night
async def test_without_keys_and_script_it_goes_on_and_still_counts_what_is_held(
    limiter: NewLimiter, redis: Redis
) -> None:
    limits = Limits(rpm=None, tpm=None, concurrency=3)
    one, other = await limiter(limits), await limiter(limits)
    held = [await soon(one.acquire(1)) for _ in range(2)]
    await redis.flushall()
    await redis.script_flush()
    await one.release(held.pop(), None)  # speaks to Redis: what it still holds is known again
    assert await granted(one, within=SOON)
    permits = [await soon(other.acquire(1)) for _ in range(2)]
    assert not await granted(other)
    await other.release(permits[0], None)
    assert await granted(other, within=SOON)


async def test_a_block_survives_a_wipe_while_its_process_lives(limiter: NewLimiter, redis: Redis, key: str) -> None:
    blocking, other = await limiter(FREE), await limiter(FREE)
    await soon(blocking.block(60))
    await redis.flushall()
    waiting = asyncio.create_task(blocking.acquire(1))  # tells its block again
    async with asyncio.timeout(SOON):
        while not float(await redis.hget(f"{key}:rate", "blocked") or 0):  # noqa: ASYNC110 - Redis sends no event
            await asyncio.sleep(0.02)
    assert not await granted(other)
    assert not waiting.done()
    waiting.cancel()


async def test_while_redis_is_away_nothing_is_granted_and_afterwards_it_goes_on(tmp_path: Path, key: str) -> None:
    with Valkey(tmp_path / "valkey") as server:
        async with Redis.from_url(server.url, socket_timeout=1) as client:
            one = Limiter(client, key, Limits(rpm=None, tpm=None, concurrency=2), holder="one", lease=5)
            await one.start()
            held = [await soon(one.acquire(1)) for _ in range(2)]
            server.process.kill()
            await asyncio.sleep(FRESH)  # what was granted before may be used for so long
            await one.release(held.pop(), None)
            waiting = [asyncio.create_task(one.acquire(1)) for _ in range(2)]
            done, _ = await asyncio.wait(waiting, timeout=NOT_YET)
            assert not done
            await asyncio.to_thread(server.start)
            done, _ = await asyncio.wait(waiting, timeout=SOON, return_when=asyncio.FIRST_COMPLETED)
            assert len(done) == 1  # the other slot is still held
            await one.release(held.pop(), None)
            await soon(asyncio.gather(*waiting))
            server.process.kill()
            await soon(one.close())  # does not hang without Redis


async def test_while_redis_hangs_nothing_is_granted_twice(tmp_path: Path, key: str) -> None:
    with Valkey(tmp_path / "valkey") as server:
        # So impatient that client and limiter send the same call many times over.
        async with Redis.from_url(server.url, socket_timeout=0.05) as client:
            one = Limiter(client, key, Limits(rpm=None, tpm=None, concurrency=4), holder="one", lease=30)
            await one.start()
            held = [await soon(one.acquire(1)) for _ in range(2)]
            os.kill(server.process.pid, signal.SIGSTOP)
            waiting = [asyncio.create_task(one.acquire(1)) for _ in range(6)]
            done, _ = await asyncio.wait(waiting, timeout=2 * NOT_YET)
            assert not done
            os.kill(server.process.pid, signal.SIGCONT)
            await soon(asyncio.gather(*waiting[:2]))
            done, _ = await asyncio.wait(waiting[2:], timeout=NOT_YET)
            assert not done
            for permit in held:
                await one.release(permit, None)
            for call in waiting[:4]:
                await soon(call)
            await one.release(waiting[0].result(), None)
            await one.release(waiting[1].result(), None)
            await soon(asyncio.gather(*waiting))
            await one.close()


async def test_a_call_that_comes_twice_is_answered_once(redis: Redis, key: str) -> None:
    limits = Limits(rpm=60, tpm=6_000, concurrency=10)
    caller = RawHolder(redis, key, "raw", limits)
    first = await caller.call(ask=1, each=50, settle=30, name="c-1")
    state = await redis.hgetall(f"{key}:rate")
    again = await caller.call(ask=1, each=50, settle=30, name="c-1")
    assert first.more == again.more == 1
    assert len(first.delays) == len(again.delays) == 1
    assert again.delays[0] < first.delays[0]  # it is due when it was due
    assert await redis.hgetall(f"{key}:rate") == state


async def test_keys_do_not_stay_for_ever(limiter: NewLimiter, redis: Redis, key: str) -> None:
    one = await limiter(Limits(rpm=60, tpm=None, concurrency=3))
    await one.release(await soon(one.acquire(1)), None)
    await soon(one.block(300))
    assert 300_000 < await redis.pttl(f"{key}:rate") <= 421_000  # not before the block is over
    assert 0 < await redis.pttl(f"{key}:holders") <= 136_000


# The script by itself


@dataclass
class RawHolder:
    """Speaks to the script as a process does, one call at a time."""

    redis: Redis
    key: str
    name: str
    limits: Limits
    held: int = 0
    calls: int = 0

    async def call(
        self,
        *,
        ask: int,
        each: int = 0,
        first: int | None = None,
        settle: int = 0,
        name: str | None = None,
        lease: float = 15,
    ) -> LimiterReply:
        self.calls += 1
        call = LimiterRequest(
            name=name or f"n-{self.calls}",
            lease=lease,
            slots=self.held,
            want=ask,
            ask=ask,
            first=each if first is None else first,
            each=each,
            settle=settle,
        )
        numbers = await self.redis.register_script(SCRIPT)(
            keys=[f"{self.key}:rate", f"{self.key}:holders"],
            args=call.arguments(self.name, self.limits, 0.0, SharedLimitState()),
        )
        return LimiterReply.read(numbers)


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_holders_do_the_limit_holds_and_nobody_starves(redis: Redis, key: str, seed: int) -> None:
    chance = random.Random(seed)
    concurrency = chance.randint(1, 12)
    limits = Limits(rpm=None, tpm=None, concurrency=concurrency)
    holders = [RawHolder(redis, key, f"h-{n}", limits) for n in range(chance.randint(1, 5))]
    hungry_for = dict.fromkeys((holder.name for holder in holders), 0)
    for _ in range(400):
        holder = chance.choice(holders)
        what = chance.random()
        if what < 0.1:  # it dies; its lease is over at once
            await holder.call(ask=0, lease=0.0)
            holder.held = 0
            continue
        # The greedier, the more often it asks; slots come back in any number.
        holder.held -= chance.randint(0, holder.held)
        asked = chance.randint(1, concurrency)
        reply = await holder.call(ask=asked)
        if what < 0.3:  # the reply was lost: the same call again
            holder.calls -= 1
            assert (await holder.call(ask=asked)).more == reply.more
        holder.held += reply.more
        assert sum(one.held for one in holders) <= concurrency
        hungry_for[holder.name] = 0 if reply.more or holder.held else hungry_for[holder.name] + 1
        assert hungry_for[holder.name] < 60


async def test_a_share_is_kept_for_who_waits_below_it(redis: Redis, key: str) -> None:
    limits = Limits(rpm=None, tpm=None, concurrency=4)
    first, second = RawHolder(redis, key, "first", limits), RawHolder(redis, key, "second", limits)
    first.held = (await first.call(ask=9)).more
    assert first.held == 4  # alone, it may have all
    assert (await second.call(ask=9)).more == 0
    told = await first.call(ask=9)
    assert (told.more, told.keep) == (0, 2)  # it is above its share of 2, the other below
    first.held -= 1
    assert (await first.call(ask=9)).more == 0
    second.held = (await second.call(ask=9)).more
    assert second.held == 1
    first.held -= 2
    assert (await first.call(ask=9)).more == 1  # up to its share, not beyond it
    first.held += 1
    assert (await second.call(ask=9)).more == 1


async def test_one_round_trip_serves_many_calls(limiter: NewLimiter, redis: Redis) -> None:
    one = await limiter(Limits(rpm=None, tpm=None, concurrency=64))
    gauge = Gauge()

    async def call() -> None:
        for _ in range(4):
            async with gauge.hold(one):
                await asyncio.sleep(0)

    before = await script_calls(redis)
    await soon(asyncio.gather(*(call() for _ in range(500))))
    calls = await script_calls(redis) - before
    assert gauge.turns == 2_000
    assert gauge.most <= 64
    assert calls <= gauge.turns / 10
