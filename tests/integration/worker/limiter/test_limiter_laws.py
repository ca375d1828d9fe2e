"""Whatever happens to the processes that share a limit, it holds, and whoever waits is served in the end.

The real script on a real server and the processes' real accounts, with a clock that is counted: see `limit_world`.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from redis import Redis

from limit_world import Begun, Process, World
from limit_world.formulas import request_pace, token_pace
from tamis_cli.embedded.valkey import Valkey
from tamis_worker.limiter.allotment import FRESH
from tamis_worker.limiter.gcra import AHEAD
from tamis_worker.limiter.rate_headers import RateHeaders
from tamis_worker.limiter.script import LIMIT_KEPT, LimiterReply, Limits

MINUTE = 60.0
LEASE = 6.0  # s
LONGEST_CALL = 1.5  # s
SILENCE = 0.5 * LEASE  # s; with the third of the lease before it, less than the lease
TOLD_WITHIN = LONGEST_CALL + SILENCE + 2.0  # s after a call began, Redis knows what it used
LARGEST = 400  # tokens

PICK = st.integers(0, 3)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Redis"]:
    with Valkey(tmp_path_factory.mktemp("limiter-laws")) as server, Redis.from_url(server.url) as client:
        yield client


@dataclass(frozen=True)
class InForce:
    """The limits of settings and endpoint together."""

    since: float
    rpm: int | None
    tpm: int | None


class Machine(RuleBasedStateMachine):
    """Processes come, ask, block, fall silent and die; Redis forgets; the endpoint changes its mind."""

    redis: "Redis"

    @initialize(
        rpm=st.sampled_from([None, 30, 300]),
        tpm=st.sampled_from([None, 30_000]),
        concurrency=st.sampled_from([1, 2, 5, 20]),
        surprise=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    )
    def begin(self, rpm: int | None, tpm: int | None, concurrency: int, surprise: float) -> None:
        self.world = World(
            self.redis,
            Limits(rpm, tpm, concurrency),
            key=f"limit:{uuid4().hex}",
            lease=LEASE,
            latency=lambda chance: chance.uniform(0.3, LONGEST_CALL),
            used=lambda chance, estimate: round(estimate * chance.uniform(1 - min(1.0, surprise), 1 + surprise)),
        )
        self.world.on_begin = self.check
        self.world.on_reply = self.note
        self.limits = [InForce(0.0, rpm, tpm)]
        self.wiped: list[float] = []
        self.dead: list[Begun] = []
        self.blocks: list[tuple[float, float]] = []  # known to Redis since; until
        self.own_blocks: dict[Process, float] = {}
        self.join(1)

    def chosen(self, pick: int) -> Process:
        return self.world.alive[pick % len(self.world.alive)]

    def wiped_lately(self) -> bool:
        return bool(self.wiped) and self.wiped[-1] > self.world.now - LEASE

    @precondition(lambda self: len(self.world.alive) < 4 and not self.wiped_lately())
    @rule(weight=st.sampled_from([1, 4, 16]))
    def join(self, weight: int) -> None:
        """Not just after a wipe: who has never spoken cannot know that there was one."""
        process = self.world.join(weight=weight)
        self.world.run(1.0, until=lambda: process.trips > 0)

    @rule(pick=PICK, calls=st.integers(1, 30), estimate=st.integers(0, LARGEST))
    def ask(self, pick: int, calls: int, estimate: int) -> None:
        for _ in range(calls):
            self.world.ask(self.chosen(pick), estimate)

    @rule(estimate=st.integers(1, LARGEST), seconds=st.sampled_from([1.0, 5.0, 70.0]), wipe=st.booleans())
    def rush(self, estimate: int, seconds: float, wipe: bool) -> None:
        """All want as much as they can get, perhaps at the moment of a wipe."""
        for process in self.world.alive:
            process.greedy = estimate
        self.world.run(seconds)
        if wipe:
            self.forget_everything()
            self.world.run(1.0)
        for process in self.world.alive:
            process.greedy = None

    @rule(seconds=st.sampled_from([0.02, 0.2, 1.0, 3.0, 20.0]))
    def wait(self, seconds: float) -> None:
        self.world.run(seconds)

    @rule(pick=PICK, replies=st.integers(1, 3))
    def lose_replies(self, pick: int, replies: int) -> None:
        self.chosen(pick).lose += replies
        self.world.run(0.3)

    @precondition(lambda self: len(self.world.alive) > 1)
    @rule(pick=PICK)
    def kill(self, pick: int) -> None:
        process = self.chosen(pick)
        self.world.kill(process)
        self.own_blocks.pop(process, None)
        late = self.world.now - TOLD_WITHIN
        self.dead += [call for call in self.world.begun if call.process is process and call.at > late]

    @rule(pick=PICK, seconds=st.floats(0.1, SILENCE))
    def cut_off(self, pick: int, seconds: float) -> None:
        process = self.chosen(pick)
        process.silent = True
        self.world.run(seconds)
        process.silent = False
        self.world.run(0.1)

    @rule()
    def forget_everything(self) -> None:
        self.redis.flushall()
        self.redis.script_flush()
        self.wiped.append(self.world.now)
        self.blocks.clear()  # whoever blocked says so again with its next call

    @rule(pick=PICK, seconds=st.sampled_from([0.1, 1.0, 10.0]))
    def block(self, pick: int, seconds: float) -> None:
        process = self.chosen(pick)
        until = self.world.now + seconds
        process.allotment.congested()
        process.allotment.block(until)
        self.own_blocks[process] = max(until, self.own_blocks.get(process, 0.0))
        self.world.run(0.1)

    @rule(pick=PICK, rpm=st.sampled_from([None, 30, 100, 1_000]), tpm=st.sampled_from([None, 30_000, 100_000]))
    def endpoint_says(self, pick: int, rpm: int | None, tpm: int | None) -> None:
        self.chosen(pick).allotment.observe(RateHeaders(limit_requests=rpm, limit_tokens=tpm), 0.0)
        now, last = self.world.now, self.limits[-1]
        lower_rpm = last.rpm if rpm is None else min(rpm, self.limits[0].rpm or rpm)
        lower_tpm = last.tpm if tpm is None else min(tpm, self.limits[0].tpm or tpm)
        self.limits.append(InForce(now, lower_rpm, lower_tpm))
        self.world.run(0.6)  # others hear of it with their next call; what they were granted before is theirs

    def note(self, reply: LimiterReply) -> None:
        now = self.world.now
        if reply.blocked > 0:
            assert not reply.more
            assert not reply.delays
            self.blocks.append((now, now + reply.blocked))

    def check(self, begun: Begun) -> None:
        """The laws, as a call begins."""
        world, now = self.world, begun.at
        assert world.in_flight <= world.limits.concurrency
        assert now >= self.own_blocks.get(begun.process, 0.0)
        assert not any(since + FRESH < now < until - 1e-4 for since, until in self.blocks)  # rounded up to 1 us
        since = now - MINUTE
        # Who was granted something after another had spoken last is not known before that one speaks; one alone knows.
        wipes = sum(at > since - AHEAD for at in self.wiped) if len(world.processes) > 1 else 0
        requests = len(world.begun) - bisect_right(world.begun, since, key=lambda call: call.at)
        self.check_requests(requests, since, wipes)
        if len(world.begun) % 5 == 0:
            known = bisect_right(world.begun, since - TOLD_WITHIN, key=lambda call: call.at)
            window = world.begun[known:]
            self.check_tokens(window, window[-requests:], since, now, wipes)

    def check_requests(self, requests: int, since: float, wipes: int) -> None:
        most = self.most([(one.since, one.rpm) for one in self.limits], since)
        if most is None:
            return
        pace = request_pace(most)
        ahead = AHEAD * 1e6 / pace.interval
        # What was paid for and not told again yet, when Redis forgot.
        assert requests <= most + wipes * (pace.burst / pace.interval + ahead + 1)

    def check_tokens(self, window: list[Begun], inside: list[Begun], since: float, now: float, wipes: int) -> None:
        most = self.most([(one.since, one.tpm) for one in self.limits], since)
        if most is None:
            return
        used = sum(call.used for call in inside)
        # Given back within the minute for calls that had begun before it; owed for calls whose end Redis does not know.
        back = sum(max(0, call.estimate - call.used) for call in window if call.at <= since)
        owed = sum(max(0, call.used - call.estimate) for call in inside if call.at > now - TOLD_WITHIN)
        never = sum(max(0, call.used - call.estimate) for call in self.dead if call.at > since)
        # Reserved before the minute, used within; one estimate beyond the burst, one kept by each process for its next.
        reserved = 2 * (AHEAD + FRESH) / MINUTE * most + (1 + len(self.world.processes)) * LARGEST
        pace = token_pace(most)
        again = wipes * (pace.burst / pace.interval + AHEAD * 1e6 / pace.interval + back + LARGEST)
        assert used <= most + back + owed + never + reserved + again

    def most(self, limits: list[tuple[float, int | None]], since: float) -> int | None:
        """The highest limit in force since a while before then; None: the settings have none."""
        own = limits[0][1]
        if own is None:
            return None
        begin = since - FRESH - 1.0
        if any(at + LIMIT_KEPT <= self.world.now for at, _ in limits[1:]):
            return own  # the endpoint has not repeated itself, and is no longer believed
        inside = [limit for at, limit in limits if at > begin]
        before = [limit for at, limit in limits if at <= begin][-1:]
        return max(limit for limit in [*before, *inside] if limit is not None)

    def teardown(self) -> None:
        """Whoever waits is granted in the end."""
        if not hasattr(self, "world"):
            return
        for process in self.world.alive:
            process.lose = 0
        waiting = [estimate for process in self.world.alive for estimate in process.waiting]
        slowest_rpm, slowest_tpm = 30, 30_000
        patience = 2 * MINUTE * (len(waiting) / slowest_rpm + sum(waiting) / slowest_tpm) + 3 * MINUTE
        self.world.run(patience, until=lambda: not any(process.waiting for process in self.world.alive))
        assert not any(process.waiting for process in self.world.alive)


def test_whatever_happens_the_limits_hold_and_whoever_waits_is_served(redis: "Redis") -> None:
    run_state_machine_as_test(
        type("LimiterMachine", (Machine,), {"redis": redis}),
        settings=settings(
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
