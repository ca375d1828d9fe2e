"""Minutes of several processes under one limit, on the real script with a clock that is counted: see `limit_world`."""

from collections.abc import Iterator, Sequence
from random import Random
from uuid import uuid4

import pytest
from redis import Redis

from limit_world import Begun, Endpoint, World
from limit_world.endpoint import Kind
from tamis_cli.embedded.valkey import Valkey
from tamis_worker.limiter.rate_headers import RateHeaders
from tamis_worker.limiter.script import Limits

START = 1_000_000.0  # s
MINUTE = 60.0
RPM, TPM = 6_000, 2_000_000
BOTH = Limits(RPM, TPM, concurrency=400)
NONE = Limits(None, None, concurrency=400)
SHORT, LONG = 100, 600  # tokens; of the short ones requests are scarce, of the long ones tokens
LONG_FORM = pytest.mark.night  # each kind of endpoint, and each scarcity, is asked about without it


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Redis"]:
    with Valkey(tmp_path_factory.mktemp("limiter-world")) as server, Redis.from_url(server.url) as client:
        yield client


def about(chance: Random, estimate: int) -> int:
    """What a call really takes."""
    return max(1, round(chance.gauss(estimate, 0.15 * estimate)))


def a_world(redis: "Redis", limits: Limits, endpoint: Kind, *, rpm: int = RPM, tpm: int = TPM) -> World:
    provider = Endpoint(endpoint, rpm=rpm, tpm=tpm, now=START)
    return World(redis, limits, key=f"limit:{uuid4().hex}", used=about, endpoint=provider, start=START)


def refused(world: World, since: float = START) -> int:
    assert world.endpoint is not None
    return sum(at >= since for at in world.endpoint.refused)


def share(begun: Sequence[Begun], since: float, until: float) -> tuple[float, float]:
    """Of the limits of requests and of tokens, per minute."""
    steady = [call for call in begun if since <= call.at < until]
    minutes = (until - since) / MINUTE
    return len(steady) / RPM / minutes, sum(call.used for call in steady) / TPM / minutes


@pytest.mark.parametrize(
    ("kind", "tokens"),
    [
        ("sliding", SHORT),
        *(
            pytest.param(*case, marks=LONG_FORM)
            for case in [("bucket", LONG), ("fixed", SHORT), ("sliding", LONG), ("bucket", SHORT), ("fixed", LONG)]
        ),
    ],
)
def test_98_percent_of_the_limit_is_used_by_four_processes_at_a_fifth_of_a_round_trip_a_call(
    redis: "Redis", kind: Kind, tokens: int
) -> None:
    world = a_world(redis, BOTH, kind)
    for _ in range(4):
        world.join(greedy=tokens)
    world.run(100)
    of_requests, of_tokens = share(world.begun, START + 10, START + 100)
    # 0.995 x 60 / 60.6 = 0.985 of the scarcer one.
    assert 0.98 < (of_requests if tokens == SHORT else of_tokens) < 0.99
    assert refused(world) == 0
    assert sum(process.trips for process in world.processes) <= 0.2 * len(world.begun)
    fewest, most = sorted(process.begun for process in world.processes)[:: len(world.processes) - 1]
    assert fewest > 0.85 * most


@pytest.mark.night
def test_a_window_that_is_full_for_long_is_not_taken_for_a_bucket_that_others_empty(redis: "Redis") -> None:
    world = a_world(redis, BOTH, "sliding")
    world.join(greedy=SHORT)
    world.run(400)  # longer than anything learned is kept
    assert share(world.begun, START + 60, START + 400)[0] > 0.98


@pytest.mark.parametrize("kind", ["bucket", *(pytest.param(kind, marks=LONG_FORM) for kind in ("sliding", "fixed"))])
def test_a_limit_that_nobody_set_is_learned_from_the_headers_and_used_as_well(redis: "Redis", kind: Kind) -> None:
    world = a_world(redis, NONE, kind)
    for _ in range(4):
        world.join(greedy=SHORT)
    world.run(90)
    assert 0.98 < share(world.begun, START + 30, START + 90)[0] < 0.99
    assert refused(world) == 0


def test_calls_begun_before_a_limit_was_known_hold_nobody_up_for_more_than_two_minutes(redis: "Redis") -> None:
    world = World(redis, NONE, key=f"limit:{uuid4().hex}", start=START)
    process = world.join(greedy=SHORT)
    world.run(70)
    assert len(world.begun) > 20_000  # 400 in flight, a second each: 800 minutes of what the endpoint then allows
    process.greedy = None
    process.allotment.observe(RateHeaders(limit_requests=30, limit_tokens=30_000), 0.0)
    world.run(1)
    world.ask(process, SHORT)
    world.run(2 * MINUTE, until=lambda: not process.waiting)
    assert not process.waiting


def test_where_no_rate_is_limited_a_call_costs_hardly_any_round_trip(redis: "Redis") -> None:
    world = World(redis, NONE, key="limit:free", start=START)
    for _ in range(4):
        world.join(greedy=SHORT)
    world.run(20)
    assert len(world.begun) > 7_000  # 400 in flight, a second each
    assert sum(process.trips for process in world.processes) <= 0.1 * len(world.begun)


def test_a_steady_trickle_below_the_limit_is_served_from_blocks_as_well(redis: "Redis") -> None:
    world = World(redis, BOTH, key="limit:trickle", start=START)
    process = world.join()
    for _ in range(600):  # 20 a second
        world.ask(process, SHORT)
        world.run(0.05)
    assert process.begun >= 599
    assert process.trips <= 0.2 * process.begun


def test_the_operator_may_want_less_than_the_endpoint_allows(redis: "Redis") -> None:
    world = a_world(redis, Limits(3_000, None, concurrency=400), "sliding")
    world.join(greedy=SHORT)
    world.run(70)
    assert share(world.begun, START + 10, START + 70)[0] == pytest.approx(0.5 * 0.985, abs=0.01)


def test_a_limit_of_the_endpoint_below_the_settings_lowers_that_of_all_processes(redis: "Redis") -> None:
    world = a_world(redis, Limits(6_000, None, concurrency=400), "bucket", rpm=1_200)
    world.join(greedy=SHORT)
    world.run(3)
    late = world.join(greedy=SHORT)  # has heard nothing yet
    world.run(100)
    assert share(world.begun, START + 40, START + 100)[0] == pytest.approx(0.2 * 0.985, abs=0.01)
    assert late.begun > 0.3 * len([call for call in world.begun if call.at > START + 10])


def test_a_limit_per_day_is_none_per_minute(redis: "Redis") -> None:
    world = World(redis, NONE, key="limit:day", start=START)
    process = world.join(greedy=SHORT)
    world.run(2)
    process.allotment.observe(RateHeaders(limit_requests=100, remaining_requests=60, reset_requests=34_560.0), 0.5)
    before = process.begun
    world.run(2)
    assert process.begun - before > 700


@pytest.mark.parametrize(
    ("kind", "others"),
    [
        pytest.param("sliding", 0.3, marks=LONG_FORM),
        pytest.param("bucket", 0.1, marks=LONG_FORM),
        pytest.param("bucket", 0.6, marks=LONG_FORM),
        pytest.param("fixed", 0.3, marks=LONG_FORM),
    ],
)
def test_others_with_the_same_key_are_left_room_and_none_of_ours_is_refused(
    redis: "Redis", kind: Kind, others: float
) -> None:
    world = a_world(redis, BOTH, kind)
    endpoint = world.endpoint
    assert endpoint is not None
    for _ in range(4):
        world.join(greedy=SHORT)
    world.run(30)
    owed = 0.0
    for _ in range(1_500):
        world.run(0.1)
        owed += others * RPM / MINUTE / 10
        known = len(endpoint.refused)
        while owed >= 1:
            owed -= 1
            endpoint.answer(SHORT, world.now)
        while len(endpoint.refused) > known:  # theirs
            endpoint.refused.pop()
    # They came without a word while we used all of it: the first minute shows that, with some 429s.
    assert refused(world, since=START + 90) <= 4
    ours, _ = share(world.begun, START + 100, START + 180)
    # What they leave, less a quarter of theirs for the balance, and not less than a tenth.
    assert ours >= max(0.1, 0.98 - 1.25 * others) - 0.03
    world.run(120)  # they have gone
    assert share(world.begun, world.now - 20, world.now)[0] > 0.9


@pytest.mark.parametrize("retry_after", [None, pytest.param(10.0, marks=LONG_FORM)])
def test_after_a_minute_of_429s_90_percent_of_the_limit_are_used_again_within_20_seconds(
    redis: "Redis", retry_after: float | None
) -> None:
    world = a_world(redis, BOTH, "sliding")
    endpoint = world.endpoint
    assert endpoint is not None
    for _ in range(4):
        world.join(greedy=SHORT)
    world.run(40)
    endpoint.storm_until, endpoint.storm_retry_after = world.now + 60, retry_after
    world.run(60)
    # 100 calls in flight once, then a block after the other: of every one no more than a few calls find out.
    assert refused(world) < 150
    over = world.now
    world.run(30)
    seconds = [share(world.begun, over + second, over + second + 5)[0] for second in range(25)]
    first = next(second for second, used in enumerate(seconds) if used >= 0.9)
    assert first + 1 <= 20
    assert all(used > 0.9 for used in seconds[first:])


def test_calls_in_flight_are_halved_once_for_many_429s_and_grow_by_a_tenth_a_second(redis: "Redis") -> None:
    world = World(redis, Limits(None, None, concurrency=100), key="limit:aimd", latency=lambda _: 0.5, start=START)
    one, other = world.join(greedy=1), world.join(greedy=1)
    world.run(5)
    assert world.in_flight == 100
    caps: list[int] = []
    world.on_reply = lambda reply: caps.append(reply.concurrency)
    for process in (one, other, one):
        process.allotment.congested()
        world.run(0.1)
    assert min(caps) == 50
    world.run(1.0)
    assert 45 <= world.in_flight <= 62
    world.run(4.0)
    # 50 + 5 s x 10, until 95; then a twentieth of 100 a second.
    assert 90 <= world.in_flight <= 100
    world.run(2.0)
    assert world.in_flight == 100


def test_a_process_of_a_high_priority_gets_more_of_the_rate_and_the_other_does_not_starve(redis: "Redis") -> None:
    world = World(redis, Limits(RPM, None, concurrency=400), key="limit:weights", start=START)
    low, high = world.join(weight=1, greedy=SHORT), world.join(weight=4, greedy=SHORT)
    world.run(60)
    assert high.begun / low.begun == pytest.approx(4, rel=0.15)


def test_a_newcomer_gets_its_share_of_the_slots_although_a_large_batch_holds_all(redis: "Redis") -> None:
    world = World(redis, Limits(None, None, concurrency=64), key="limit:newcomer", start=START)
    large = world.join(greedy=1)
    world.run(5)
    assert large.allotment.in_flight == 64
    small = world.join()
    small.waiting.extend([1] * 20)
    world.run(5, until=lambda: not small.waiting)
    assert world.now - START < 7.5  # calls take a second


def test_a_wiped_server_lets_no_minute_pass_twice_and_knows_again_what_was_learned(redis: "Redis") -> None:
    world = a_world(redis, Limits(None, None, concurrency=400), "sliding")
    for _ in range(4):
        world.join(greedy=SHORT)
    for _ in range(3):
        world.run(40)
        redis.flushall()
    world.run(40)
    assert refused(world) == 0
    # No new slots are given before all have said what they hold: half a lease without some of the calls in flight.
    assert share(world.begun, START + 30, world.now)[0] > 0.9
    assert world.in_flight <= 400


def test_after_a_wipe_nobody_gets_slots_that_another_holds_and_has_not_told_again(redis: "Redis") -> None:
    world = World(redis, Limits(None, None, 20), key="limit:wipe", latency=lambda _: 30.0, start=START)
    holds, asks = world.join(greedy=1), world.join()
    world.run(1)
    assert (holds.allotment.in_flight, asks.trips > 0) == (20, True)
    holds.greedy = None
    redis.flushall()
    for _ in range(20):
        world.ask(asks, 1)
    world.run(25)
    assert world.in_flight == 20
    world.run(10)
    assert asks.begun == 20


def test_a_reply_that_is_lost_grants_nothing_twice(redis: "Redis") -> None:
    world = World(redis, Limits(600, None, 20), key="limit:lost", latency=lambda _: 0.01, start=START)
    process = world.join(greedy=SHORT)
    for _ in range(60):
        process.lose = 1
        world.run(0.5)
    # 3 at once, then one every 60.6 s / 598; a request that was sent again took nothing, and due times stayed.
    assert process.begun == pytest.approx(3 + 30 / (60.6 / 598), abs=2 + 20 * 0.05)


def test_a_clock_that_is_set_back_stops_nobody(redis: "Redis") -> None:
    world = World(redis, Limits(600, None, concurrency=400), key="limit:clock", start=START)
    process = world.join(greedy=SHORT)
    world.run(10)
    world.server_clock -= 300.0
    before = process.begun
    world.run(10)
    assert process.begun - before == pytest.approx(98, abs=5)  # 10 s of 600 a minute
