"""The arithmetic of the limits, against a simulation of the algorithm."""

from bisect import bisect_left
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_worker.limiter.gcra import BURST_SHARE, LATE, UNLIMITED, WINDOW, Pace, request_pace, token_pace


@dataclass
class Bucket:
    """The algorithm in three lines, as `limiter.lua` has it."""

    pace: Pace
    arrival: float = 0.0

    def earliest(self, now: int, cost: float) -> int:
        """When `cost` may be granted, `now` at the soonest."""
        return max(now, -int(-(self.arrival + min(cost, self.pace.burst) - self.pace.burst) // 1))

    def take(self, now: int, cost: float) -> None:
        self.arrival = max(self.arrival, now) + cost


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


def test_no_limit_is_no_pace() -> None:
    assert request_pace(None) == token_pace(None) == UNLIMITED == Pace(interval=0.0, burst=0.0)


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
