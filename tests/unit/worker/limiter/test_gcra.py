"""The pace of permits as the script computes it, and what follows from it for every window of a minute."""

from bisect import bisect_left
from dataclasses import dataclass
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limit_world.formulas import due_at, request_pace, tat_after, tat_settled, token_pace
from tamis_worker.limiter.gcra import BURST_SHARE, LATE, WINDOW


@dataclass
class Bucket:
    """What is granted one after the other at one pace."""

    pace: Any
    tat: float = 0.0

    def earliest(self, now: int, cost: float) -> int:
        """When `cost` may be granted, `now` at the soonest."""
        return ceil(due_at(self.pace, self.tat, now, cost))

    def take(self, now: int, cost: float) -> None:
        self.tat = tat_after(self.pace, self.tat, now, cost)


@pytest.mark.parametrize(
    ("rpm", "burst", "interval"),
    [
        (1, 1, 60_600_000),  # 60.6 s / (1 - 1 + 1)
        (60, 1, 1_010_000),  # 60.6 s / (60 - 1 + 1)
        (400, 2, 151_880),  # 60.6 s / (400 - 2 + 1) = 151,879.7, rounded up
        (6_000, 30, 10_150),  # 60.6 s / (6,000 - 30 + 1) = 10,149.1
    ],
)
def test_requests_leave_room_for_burst_and_lateness(rpm: int, burst: int, interval: int) -> None:
    pace = request_pace(rpm)
    assert pace.interval == interval
    assert pace.burst == burst * interval


@pytest.mark.parametrize(
    ("tpm", "burst", "interval"),
    [
        (1, 0, 60_600_000.0),
        (199, 0, 60_600_000 / 199),
        (30_000, 150, 60_600_000 / 29_850),
        (2_000_000, 10_000, 60_600_000 / 1_990_000),
    ],
)
def test_tokens_leave_room_for_burst_and_lateness(tpm: int, burst: int, interval: float) -> None:
    pace = token_pace(tpm)
    assert pace.interval == interval
    assert pace.burst == burst * interval


def test_without_a_limit_all_is_due_at_once_and_nothing_is_owed() -> None:
    for pace in (request_pace(0), token_pace(0)):
        assert (pace.interval, pace.burst) == (0, 0)
        assert due_at(pace, 500, 100, 7) == 100
        assert tat_after(pace, 500, 100, 7) == tat_settled(pace, 500, 100, 0) == 500


def test_what_costs_more_than_the_burst_is_due_when_all_before_it_is_paid_for() -> None:
    pace = token_pace(6_000)
    assert due_at(pace, 1_000, 900, 3_000 * pace.interval) == 1_000


@pytest.mark.parametrize(
    ("tat", "cost", "settled"),
    [
        (900, 50, 1_050),  # paid for until 900, so from now, 1,000, on
        (1_200, 50, 1_250),
        (1_200, -50, 1_150),
        (30, -50, 0),
        (900, 0, 900),
    ],
)
def test_what_was_used_beyond_a_permit_is_owed_and_what_it_did_not_use_comes_back(
    tat: int, cost: int, settled: int
) -> None:
    assert tat_settled(token_pace(6_000), tat, 1_000, cost) == settled


@given(
    rpm=st.integers(1, 3_000),
    arrivals=st.lists(st.integers(0, WINDOW // 20), min_size=1, max_size=30),
    start=st.integers(1, 10**15),
)
def test_no_window_holds_more_requests_than_the_limit(rpm: int, arrivals: list[int], start: int) -> None:
    # Bursts after every kind of pause, each as long as the bucket grants at once, then a greedy minute.
    bucket = Bucket(request_pace(rpm))
    now, grants = start, list[int]()
    for pause in arrivals:
        now += pause
        while bucket.earliest(now, bucket.pace.interval) == now:
            bucket.take(now, bucket.pace.interval)
            grants.append(now)
    end = now + WINDOW + WINDOW // 10
    while (now := bucket.earliest(now, bucket.pace.interval)) < end:
        bucket.take(now, bucket.pace.interval)
        grants.append(now)
    for first, at in enumerate(grants):
        assert bisect_left(grants, at + WINDOW + LATE) - first <= rpm  # the first may come LATE, the last at once


@given(rpm=st.integers(1, 100_000))
def test_a_greedy_caller_gets_nearly_the_whole_limit(rpm: int) -> None:
    pace = request_pace(rpm)
    # Up to 0.5 % for the burst, 1 % for lateness, and the interval is rounded up to whole microseconds.
    assert WINDOW / pace.interval > rpm * 0.995 * 60 / 60.6 * 0.998


@given(
    tpm=st.integers(1, 100_000),
    estimates=st.lists(st.integers(0, 5_000), min_size=1, max_size=60),
    pauses=st.lists(st.integers(0, WINDOW // 5), min_size=60, max_size=60),
)
def test_no_window_holds_more_tokens_than_the_limit_and_one_excess(
    tpm: int, estimates: list[int], pauses: list[int]
) -> None:
    bucket = Bucket(token_pace(tpm))
    burst = int(tpm * BURST_SHARE)
    now, grants, totals = 1, list[int](), [0]
    for estimate, pause in zip(estimates, pauses, strict=False):
        cost = estimate * bucket.pace.interval
        now = bucket.earliest(now + pause, cost)
        bucket.take(now, cost)
        grants.append(now)
        totals.append(totals[-1] + estimate)
    excess = max(0, max(estimates) - burst)
    for first, at in enumerate(grants):
        in_window = totals[bisect_left(grants, at + WINDOW + LATE)] - totals[first]
        assert in_window <= tpm + excess
