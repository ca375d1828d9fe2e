"""What a process may begin with what it was granted; with the real script it runs in the limiter's world."""

from collections.abc import Callable

import pytest

from tamis_worker.limiter.allotment import FRESH, NO_DEMAND, Demand, LocalAllotment
from tamis_worker.limiter.gcra import AHEAD, GRACE
from tamis_worker.limiter.script import LimiterReply, Limits, SharedLimitState

LIMITS = Limits(6_000, None, 10)
NOW = 1_000.0


def granted(
    allotment: LocalAllotment,
    *,
    slots: int = 0,
    delays: tuple[float, ...] = (),
    keep: int | None = None,
    paced: bool = True,
    blocked: float = 0.0,
    at: float = NOW,
    came: float | None = None,
    demand: Demand = NO_DEMAND,
) -> None:
    """One conversation with Redis."""
    request = allotment.next_request("c", at, demand, LIMITS)
    reply = LimiterReply(slots, keep, False, paced, None, blocked, 10, SharedLimitState(), delays)
    allotment.apply_reply(request, reply, at, at if came is None else came)


def test_a_call_needs_a_slot_and_a_permit_that_is_due() -> None:
    allotment = LocalAllotment(15.0)
    assert not allotment.take(0, NOW)
    granted(allotment, slots=1, delays=(0.2,))
    assert not allotment.take(0, NOW + 0.1)
    assert allotment.next_permit(NOW + 0.1) == NOW + 0.2
    assert allotment.take(0, NOW + 0.2)
    assert not allotment.take(0, NOW + 0.2)


def test_a_permit_is_void_when_its_time_is_long_over() -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=2, delays=(0.0, 0.0))
    assert allotment.take(0, NOW + GRACE)
    assert not allotment.take(0, NOW + GRACE + 0.01)


def test_a_reply_that_was_read_late_does_not_move_due_times() -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=2, delays=(0.0, 0.4), came=NOW + 5.0)  # the process was stopped meanwhile
    assert not allotment.take(0, NOW + 5.0)


@pytest.mark.parametrize(("came", "due"), [(0.05, 0.25), (0.1, 0.3), (0.3, 0.3)])
def test_a_reply_moves_due_times_by_its_way_and_by_no_more_than_a_tenth_of_a_second(came: float, due: float) -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=1, delays=(0.2,), came=NOW + came)
    assert allotment.next_permit(NOW + came) == pytest.approx(NOW + due)


@pytest.mark.parametrize("paced", [True, False])
def test_nothing_begins_when_redis_was_not_heard_for_a_while(paced: bool) -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=2, delays=(AHEAD, AHEAD) if paced else (), paced=paced)
    assert allotment.take(0, NOW + FRESH - 0.01)
    assert not allotment.take(0, NOW + FRESH)


def test_a_reply_that_came_late_is_as_old_as_its_request() -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=2, paced=False, came=NOW + 0.5)
    assert allotment.take(0, NOW + FRESH - 0.01)
    assert not allotment.take(0, NOW + FRESH)


def test_tokens_of_permits_are_one_balance_and_what_is_left_of_it_is_given_back() -> None:
    allotment = LocalAllotment(15.0)
    demand = Demand(waiting=2, head=100, mean=100)
    granted(allotment, slots=3, delays=(0.0, 0.0), demand=demand)
    assert not allotment.take(201, NOW)  # more than both have
    assert allotment.take(150, NOW)
    assert not allotment.take(51, NOW)
    assert allotment.take(20, NOW)
    assert allotment.next_request("next", NOW + 0.5, NO_DEMAND, LIMITS).settle == -30


@pytest.mark.parametrize(
    ("ended", "settled"),
    [
        (lambda allotment: allotment.void(100), (-100, 0)),  # it never began
        (lambda allotment: allotment.give(100, 70), (-30, 1)),
        (lambda allotment: allotment.give(100, 130), (30, 1)),
        (lambda allotment: allotment.give(100, None), (0, 0)),  # nobody knows: what it was granted is taken to be used
    ],
)
def test_a_call_gives_its_slot_back_and_settles_its_tokens(
    ended: Callable[[LocalAllotment], None], settled: tuple[int, int]
) -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=1, delays=(0.0,), demand=Demand(waiting=1, head=100, mean=100))
    assert allotment.take(100, NOW)
    ended(allotment)
    assert (allotment.slots, allotment.in_flight) == (1, 0)
    request = allotment.next_request("next", NOW + 0.1, NO_DEMAND, LIMITS)
    assert (request.settle, request.succeeded) == settled
    assert allotment.next_request("after it", NOW + 0.2, NO_DEMAND, LIMITS).settle == 0  # told once


def test_a_call_larger_than_what_is_in_hand_asks_for_the_rest() -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=2, delays=(0.0,), demand=Demand(waiting=1, head=100, mean=100))
    assert not allotment.take(400, NOW)
    asked = allotment.next_request("next", NOW + 0.1, Demand(waiting=1, head=400, mean=400), LIMITS)
    assert (asked.ask, asked.first, asked.settle) == (1, 400, 0)  # at least the 300 that are missing


def test_a_slot_goes_from_call_to_call_unless_others_are_owed_it() -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=2, paced=False)
    assert allotment.take(0, NOW)
    assert allotment.take(0, NOW)
    allotment.give(0, 0)
    assert allotment.take(0, NOW)
    granted(allotment, keep=1, paced=False)
    assert allotment.request_at(NOW, NO_DEMAND) > NOW + 0.01
    allotment.give(0, 0)
    assert not allotment.take(0, NOW)
    assert (allotment.slots, allotment.in_flight) == (1, 1)
    assert allotment.request_at(NOW, NO_DEMAND) == pytest.approx(NOW + 0.01)  # it is told at once
    allotment.give(0, 0)
    assert allotment.take(0, NOW)


def test_a_slot_whose_permit_is_not_due_yet_is_not_let_go() -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=1, delays=(0.3,))
    granted(allotment, keep=0, at=NOW + 0.1)
    assert allotment.take(0, NOW + 0.3)


def test_what_rested_for_a_second_is_given_back() -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=5, paced=False)
    assert allotment.take(0, NOW)
    granted(allotment, paced=False, at=NOW + 0.5)
    assert allotment.slots == 5
    granted(allotment, paced=False, at=NOW + 1.5)
    granted(allotment, paced=False, at=NOW + 2.6)
    assert allotment.slots == 1


def test_what_was_needed_for_a_moment_did_not_rest() -> None:
    """Of four slots one is in flight; two more are for a moment, so that one has rested."""
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=4, paced=False)
    assert allotment.take(0, NOW)
    granted(allotment, paced=False, at=NOW + 1.0)  # a second begins
    assert allotment.take(0, NOW + 1.5)
    assert allotment.take(0, NOW + 1.5)
    allotment.give(0, 0)
    allotment.give(0, 0)
    granted(allotment, paced=False, at=NOW + 1.9)
    assert allotment.slots == 4
    granted(allotment, paced=False, at=NOW + 2.0)
    assert allotment.slots == 3
    granted(allotment, paced=False, at=NOW + 3.0)  # another second, in which only one was used
    assert allotment.slots == 1


def test_slots_that_rested_are_kept_for_those_who_wait_now() -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=4)
    granted(allotment, at=NOW + 1.0)
    granted(allotment, at=NOW + 2.0, demand=Demand(waiting=3))
    assert allotment.slots == 3


def test_slots_that_have_just_come_did_not_rest() -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=1, paced=False)
    assert allotment.take(0, NOW)
    granted(allotment, paced=False, at=NOW + 1.0)
    granted(allotment, slots=3, paced=False, at=NOW + 1.9)
    granted(allotment, paced=False, at=NOW + 2.0)
    assert allotment.slots == 4


def test_a_congested_endpoint_gets_no_call_before_redis_knows() -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=2, paced=False)
    allotment.congested()
    assert not allotment.take(0, NOW)
    assert allotment.request_at(NOW, NO_DEMAND) == pytest.approx(NOW + 0.01)  # and Redis is told at once
    granted(allotment, paced=False)
    assert allotment.take(0, NOW)


def test_a_block_is_never_shortened_and_lasts_where_redis_has_forgotten_it() -> None:
    allotment = LocalAllotment(15.0)
    granted(allotment, slots=2, paced=False)
    allotment.block(NOW + 5.0)
    allotment.block(NOW + 1.0)
    granted(allotment, paced=False, at=NOW + 4.9)
    assert allotment.own_block(NOW + 4.0) == pytest.approx(1.0)
    assert not allotment.take(0, NOW + 4.9)
    granted(allotment, paced=False, at=NOW + 5.0)
    assert allotment.take(0, NOW + 5.0)
