"""How often is looked for the end of something: quickly at first, then every second, and once more when time is up."""

from itertools import islice

import pytest

from tamis_producer.process.waiting import FIRST_POLL, SLOWEST_POLL, poll, poll_pauses


class Clock:
    """Time that passes where somebody sleeps, and in no other place."""

    def __init__(self, each_look: float = 0.0) -> None:
        self.now = 100.0
        self.each_look = each_look
        self.looks: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def look(self) -> float:
        self.now += self.each_look
        self.looks.append(self.now)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_pauses_grow_by_a_tenth_up_to_a_second() -> None:
    pauses = list(islice(poll_pauses(None), 60))
    assert pauses[:3] == pytest.approx([0.05, 0.055, 0.0605])  # 0.05 * 1.1 ** n
    assert pauses[0] == FIRST_POLL
    assert pauses[31] == pytest.approx(0.05 * 1.1**31)  # 0.96
    assert set(pauses[32:]) == {SLOWEST_POLL}  # 0.05 * 1.1 ** 32 is 1.06


def test_the_last_pause_ends_with_the_time_and_none_follows(clock: Clock) -> None:
    pauses = []
    for pause in poll_pauses(0.12, clock):
        pauses.append(pause)
        clock.sleep(pause)
    assert pauses == pytest.approx([0.05, 0.055, 0.015])  # 0.12 - 0.05 - 0.055


@pytest.mark.parametrize("timeout", [0, -1])
def test_without_time_there_is_one_look_at_once(clock: Clock, timeout: float) -> None:
    assert list(poll(clock.look, timeout, clock.sleep, clock)) == [100.0]


def test_one_more_look_is_taken_when_time_is_up(clock: Clock) -> None:
    assert list(poll(clock.look, 0.12, clock.sleep, clock)) == pytest.approx([100.0, 100.05, 100.105, 100.12])


def test_time_counts_from_before_the_first_look(clock: Clock) -> None:
    clock.each_look = 0.2  # longer than there is time
    assert list(poll(clock.look, 0.12, clock.sleep, clock)) == pytest.approx([100.2])


def test_nobody_looks_ahead_of_who_asks(clock: Clock) -> None:
    seen = poll(clock.look, None, clock.sleep, clock)
    assert next(seen) == 100.0
    assert clock.looks == [100.0]
