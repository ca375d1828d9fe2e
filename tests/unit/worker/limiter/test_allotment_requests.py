"""When a process speaks to Redis, what it asks for, and what it tells."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tamis_worker.limiter.allotment import FRESH, NO_DEMAND, Demand, LocalAllotment
from tamis_worker.limiter.gcra import GRACE
from tamis_worker.limiter.rate_headers import RateHeaders
from tamis_worker.limiter.script import LimiterReply, LimiterRequest, Limits, SharedLimit, SharedLimitState

LIMITS = Limits(6_000, None, 10)
NOW = 1_000.0
NOTHING = LimiterReply(0, None, False, True, None, 0.0, 10, SharedLimitState(), ())
FREE = replace(NOTHING, paced=False)  # no rate is limited
ONE = Demand(waiting=1, head=100, mean=100)
SIZED = replace(NOTHING, more=1, delays=(0.0,))
TWO = replace(NOTHING, more=1, delays=(0.0, 0.0))


def replied(reply: LimiterReply, demand: Demand = NO_DEMAND, *, times: int = 1) -> LocalAllotment:
    """What a process holds after so many such answers, the last of them at `NOW`."""
    allotment = LocalAllotment(15.0)
    for _ in range(times):
        allotment.apply_reply(allotment.next_request("c", NOW, demand, LIMITS), reply, NOW, NOW)
    return allotment


def begun(calls: int, reply: LimiterReply) -> LocalAllotment:
    allotment = replied(reply)
    assert all(allotment.take(0, NOW) for _ in range(calls))
    return allotment


def after(allotment: LocalAllotment, *events: Callable[[LocalAllotment], object]) -> LocalAllotment:
    for event in events:
        event(allotment)
    return allotment


@pytest.mark.parametrize(
    ("what", "allotment", "demand", "at", "due"),
    [
        ("nothing is held: a third of the lease", replied(NOTHING), NO_DEMAND, 0.0, 5.0),
        ("news: at once, with other news", after(replied(NOTHING), LocalAllotment.mark_dirty), NO_DEMAND, 0.0, 0.01),
        ("an idle slot is given back after its rest", replied(replace(FREE, more=1)), NO_DEMAND, 0.0, 1.0),
        ("one call in flight", begun(1, replace(FREE, more=1)), NO_DEMAND, 0.0, 5.0),
        ("calls go on: before what is held is old", begun(2, replace(FREE, more=2)), NO_DEMAND, 0.0, 0.5),
        ("an end is told", after(begun(1, TWO), lambda h: h.give(0, 0), lambda h: h.take(0, NOW)), NO_DEMAND, 0.0, 1.0),
        ("so are tokens beyond an estimate", after(begun(1, TWO), lambda h: h.void(1)), NO_DEMAND, 0.0, 1.0),
        ("tokens are left over", after(replied(SIZED, ONE), lambda h: h.take(70, NOW)), NO_DEMAND, 0.0, 1.0),
        ("none are left over", after(replied(SIZED, ONE), lambda h: h.take(100, NOW)), NO_DEMAND, 0.0, 5.0),
        ("others wait for the idle slot", replied(replace(FREE, more=1, contended=True)), NO_DEMAND, 0.0, 0.01),
        ("others wait, we have none", replied(replace(NOTHING, contended=True)), NO_DEMAND, 0.0, 0.25),
        ("others wait, and so do we", replied(replace(FREE, more=1, contended=True)), ONE, 0.0, 0.25),
        ("a block ends", replied(replace(NOTHING, more=1, blocked=0.4), ONE), ONE, 0.0, 0.4),
        ("a block may be lifted", replied(replace(NOTHING, blocked=300.0), ONE), ONE, 0.0, 2.0),
        ("a permit was not asked for yet", replied(replace(NOTHING, more=1)), ONE, 0.0, 0.01),
        ("asking makes sense later", replied(replace(NOTHING, more=1, wait=0.3), ONE), ONE, 0.0, 0.3),
        ("no permits, nobody knows when", replied(replace(NOTHING, more=1), ONE), ONE, 0.0, 0.05),
        ("a free slot and no limit: it may begin", replied(replace(FREE, more=1), ONE), ONE, 0.0, 1.0),
        ("the same, no longer fresh", replied(replace(FREE, more=1), ONE), ONE, FRESH, 0.01),
        # The permits serve until the last is due, at 0.4; 0.02 before that more are asked for.
        ("permits in hand", replied(replace(NOTHING, more=3, delays=(0.2, 0.4)), ONE), ONE, 0.0, 0.38),
        (
            "permits in hand with too few tokens",
            replied(replace(NOTHING, more=3, delays=(0.2, 0.4)), ONE),
            *(replace(ONE, head=201), 0.0, 0.01),
        ),
        ("no slot: others may let one go", replied(NOTHING, ONE), ONE, 0.0, 0.05),
        ("no slot for the second time", replied(NOTHING, ONE, times=2), ONE, 0.0, 0.1),
        ("no slot for long", replied(NOTHING, ONE, times=5), ONE, 0.0, 0.25),
        ("a slot has come and is in flight: another may", begun(1, replace(FREE, more=1)), ONE, 0.0, 0.01),
        ("no slot, and no limit", replied(FREE, ONE), ONE, 0.0, 0.05),
        ("no slot for the permit that is to come", replied(replace(NOTHING, delays=(0.4,)), ONE), ONE, 0.0, 0.05),
        ("all slots that there are, in flight", begun(10, replace(FREE, more=10)), ONE, 0.0, 0.5),
    ],
)
def test_redis_is_asked_when_it_can_change_something(
    what: str, allotment: LocalAllotment, demand: Demand, at: float, due: float
) -> None:
    assert allotment.request_at(NOW + at, demand) == pytest.approx(NOW + due), what


def test_the_next_permit_is_waited_for_only_where_a_call_could_use_it() -> None:
    allotment = replied(replace(NOTHING, more=1, delays=(0.0, 0.2)), ONE)
    assert allotment.take(100, NOW)
    assert allotment.next_permit(NOW + 0.1) is None  # no slot
    allotment.give(100, 100)
    assert allotment.next_permit(NOW + 0.1) == NOW + 0.2
    assert allotment.next_permit(NOW + FRESH) is None
    allotment.block(NOW + 0.15)
    assert (allotment.next_permit(NOW + 0.1), allotment.next_permit(NOW + 0.15)) == (None, NOW + 0.2)


@pytest.mark.parametrize(
    ("what", "reply", "demand", "asked"),
    [
        ("nobody waits", NOTHING, NO_DEMAND, {"want": 0, "ask": 0, "first": 0, "each": 0, "weight": 1, "lack": 0}),
        (
            "three wait, of whom the next is larger",
            NOTHING,
            Demand(3, head=100, mean=80, weight=2),
            {"want": 3, "ask": 3, "first": 100, "each": 80, "weight": 2, "room": 0, "lack": 0},
        ),
        (
            "the next is smaller than the others",
            replace(NOTHING, more=1, delays=(0.0,)),  # with 20 tokens: what the first of them needed
            Demand(3, head=20, mean=80),
            {"want": 2, "ask": 2, "first": 80, "each": 80, "room": 0, "lack": 0},
        ),
        (
            "two of three have slots",
            replace(NOTHING, more=2),
            Demand(3, head=100, mean=80),
            {"want": 1, "ask": 3, "room": 2, "lack": -2},
        ),
        ("more than there are slots", NOTHING, Demand(50, head=1, mean=1), {"want": 10, "ask": 50}),
        (
            "a permit is there and no slot",
            replace(NOTHING, delays=(0.4,)),
            ONE,
            {"want": 1, "ask": 0, "first": 0, "room": 0, "lack": 1},
        ),
    ],
)
def test_what_is_lacking_is_asked_for(what: str, reply: LimiterReply, demand: Demand, asked: dict[str, int]) -> None:
    allotment = replied(reply, demand)
    request = allotment.next_request("next", NOW, demand, LIMITS)
    assert {name: getattr(request, name) for name in asked} == asked, what


def test_a_permit_that_is_void_is_asked_for_again() -> None:
    allotment = replied(replace(NOTHING, more=1, delays=(0.0,)), ONE)
    request = allotment.next_request("next", NOW + GRACE + 0.01, ONE, LIMITS)
    assert (request.ask, request.room, request.first) == (1, 1, 0)  # its tokens are still there


@pytest.mark.parametrize(
    ("slots", "out", "keep", "permits", "left"),
    [
        (3, 1, 0, 0, 1),  # both idle ones go
        (3, 1, 0, 1, 2),  # 1 in flight + min(2 idle, 1 permit)
        (3, 1, 0, 5, 3),  # 1 in flight + min(2 idle, 5 permits)
        (3, 1, 2, 0, 2),  # as many as may be kept
        (3, 1, 4, 0, 3),
    ],
)
def test_idle_slots_that_others_are_owed_go_at_once(slots: int, out: int, keep: int, permits: int, left: int) -> None:
    allotment = begun(out, replace(FREE, more=slots))
    request = allotment.next_request("next", NOW, NO_DEMAND, LIMITS)
    allotment.apply_reply(request, replace(NOTHING, keep=keep, delays=(0.1,) * permits), NOW, NOW)
    assert allotment.slots == left
    assert (allotment.request_at(NOW, NO_DEMAND) == pytest.approx(NOW + 0.01)) is (left < slots)  # and it is told


@pytest.mark.parametrize(("contended", "waiting", "told"), [(True, 0, 1), (True, 1, 2), (True, 5, 3), (False, 0, 3)])
def test_where_others_wait_only_the_slots_that_we_need_are_kept(contended: bool, waiting: int, told: int) -> None:
    allotment = begun(1, replace(FREE, more=3, contended=contended))  # two are idle
    assert allotment.next_request("next", NOW + 0.1, replace(ONE, waiting=waiting), LIMITS).slots == told


def test_permits_are_kept_in_the_order_of_their_due_times_and_a_new_one_ends_the_wait_for_it() -> None:
    allotment = replied(replace(NOTHING, more=2, wait=0.3), ONE)
    for delay in (0.4, 0.1):
        allotment.apply_reply(
            allotment.next_request("c", NOW, ONE, LIMITS), replace(NOTHING, delays=(delay,)), NOW, NOW
        )
    assert allotment.next_permit(NOW) == NOW + 0.1
    assert allotment.request_at(NOW, replace(ONE, head=1_000)) == pytest.approx(NOW + 0.01)


def test_a_block_that_redis_lifts_is_over() -> None:
    allotment = replied(replace(FREE, more=1, blocked=5.0))
    assert not allotment.take(0, NOW)
    allotment.apply_reply(allotment.next_request("c", NOW, NO_DEMAND, LIMITS), FREE, NOW, NOW)
    assert allotment.take(0, NOW)


def test_tokens_that_the_permits_in_hand_lack_are_asked_for_with_one_more() -> None:
    allotment = replied(replace(NOTHING, more=1, delays=(0.0, 0.4)), ONE)  # 100 tokens each
    asked = allotment.next_request("next", NOW, Demand(waiting=1, head=500, mean=50), LIMITS)
    assert (asked.ask, asked.first) == (1, 500 - 200)


def test_calls_that_follow_each_other_fast_are_granted_ahead() -> None:
    """Ten in half a second, less what is yet to be believed, exp(-0.5): 7.87 a second, 2.4 in 0.3 s, 3.9 in 0.5 s."""
    allotment = begun(10, replace(FREE, more=10))
    for _ in range(10):
        allotment.give(0, 5)
    many = Demand(waiting=20, head=100, mean=80)
    request = allotment.next_request("next", NOW + 0.5, many, LIMITS)
    assert (request.extra, request.room, request.lack) == (3, 10 + 4, -10)
    assert (request.unpaced_requests, request.unpaced_tokens, request.settle, request.succeeded) == (10, 0, 50, 10)
    later = allotment.next_request("later", NOW + 1.5, many, LIMITS)  # 7.87 x exp(-1) = 2.9 a second: fewer than four
    assert (later.extra, later.unpaced_requests, later.settle, later.succeeded) == (0, 0, 0, 0)


def test_what_may_have_been_lost_is_owed_again_and_never_given_back_twice() -> None:
    owing = replied(NOTHING)
    for settle, again in ((30, 30), (-30, 0)):
        owing.request_lost(LimiterRequest("lost", 15.0, settle=settle))
        assert owing.request_at(NOW, NO_DEMAND) == pytest.approx(NOW + 0.01)
        assert owing.next_request("next", NOW, NO_DEMAND, LIMITS).settle == again
    owing.request_lost(LimiterRequest("lost", 15.0, congested=True))
    assert owing.next_request("next", NOW, NO_DEMAND, LIMITS).congested


def test_trouble_is_told_until_it_has_arrived() -> None:
    allotment = replied(replace(FREE, more=1))
    allotment.congested()
    lost = allotment.next_request("lost", NOW, NO_DEMAND, LIMITS)
    allotment.request_lost(lost)
    request = allotment.next_request("next", NOW, NO_DEMAND, LIMITS)
    assert (lost.congested, request.congested) == (True, True)
    assert not allotment.take(0, NOW)
    allotment.apply_reply(request, FREE, NOW, NOW)
    assert not allotment.next_request("last", NOW, NO_DEMAND, LIMITS).congested
    assert allotment.take(0, NOW)


def test_a_block_voids_permits_and_their_tokens_go_back() -> None:
    allotment = replied(replace(NOTHING, more=2, delays=(0.0, 0.4)), ONE)  # 100 tokens each
    allotment.block(NOW + 0.2)
    assert allotment.blocked(NOW + 0.05) == pytest.approx(0.15)
    assert allotment.next_request("next", NOW + 0.1, NO_DEMAND, LIMITS).settle == -200
    assert allotment.next_request("once", NOW + 0.1, NO_DEMAND, LIMITS).settle == 0
    allotment.apply_reply(LimiterRequest("next", 15.0), NOTHING, NOW + 0.1, NOW + 0.2)
    assert (allotment.blocked(NOW + 0.2), allotment.take(0, NOW + 0.4)) == (0.0, False)


def test_whoever_leaves_gives_everything_back() -> None:
    allotment = replied(replace(NOTHING, more=3, delays=(0.0, 0.4)), Demand(2, head=100, mean=80))
    assert allotment.take(70, NOW)
    allotment.give(70, 75)
    last = allotment.release_all("last")
    assert (last.slots, last.lease, last.settle) == (0, 0.0, 5 - (180 - 70))


def test_what_all_know_is_remembered_for_a_server_that_forgets() -> None:
    known = SharedLimitState(7, 5, SharedLimit(lead=2.0, limit=60), SharedLimit(lead=0.5, limit=900))
    allotment = replied(replace(NOTHING, concurrency=5, shared=known))
    assert (allotment.concurrency, allotment.requests) == (5, known.requests)
    later = replace(known, requests=SharedLimit(lead=1.0, limit=60), tokens=SharedLimit(lead=0.0, limit=900))
    assert allotment.shared_state(NOW + 1.0) == later
    assert replied(NOTHING).shared_state(NOW + 1.0) == SharedLimitState()


def test_a_limit_that_is_heard_holds_before_redis_knows_it() -> None:
    allotment = replied(replace(FREE, more=1))
    allotment.observe(RateHeaders(60, 59, 1.0), 0.1)
    assert not allotment.take(0, NOW)
    assert allotment.request_at(NOW, NO_DEMAND) == pytest.approx(NOW + 0.01)
    request = allotment.next_request("next", NOW, NO_DEMAND, LIMITS)
    assert request.reports.requests.limit == 60
