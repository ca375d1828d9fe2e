"""When a worker counts as stalled, and how it ends."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_worker.liveness.watchdog import EXIT_STALLED, Observation, Watchdog, WatchdogBounds, stalled

BOUNDS = WatchdogBounds(stalled_after=60, concurrency=8, write_within=120, stop_within=200, farewell=5)
BUSY = Observation(at=0, waiting=100, taken=50, in_flight=3, holding_back=False, turns=0)


def looks(*, every: float = 5, seconds: float = 60, first: Observation = BUSY, **last: object) -> list[Observation]:
    """One look every so many seconds; the loop turns between them, and nothing is taken. `last` is of the last one."""
    n = round(seconds / every)
    seen = [replace(first, at=number * every, turns=first.turns + number) for number in range(n + 1)]
    return [*seen[:-1], replace(seen[-1], **last)]  # type: ignore[arg-type] # fields of an observation


def test_a_worker_that_takes_nothing_for_a_minute_though_messages_wait_is_stalled() -> None:
    # 8 places, 3 of them used
    expected = "took no message for 60 s, although 100 messages wait and 5 places are free"
    assert stalled(looks(seconds=60), BOUNDS) == expected
    assert stalled(looks(seconds=55), BOUNDS) is None


@pytest.mark.parametrize(
    ("why", "differently"),
    [
        ("nothing waits", {"waiting": 0}),
        ("the broker does not say what waits", {"waiting": None}),
        ("it has no room", {"in_flight": 8}),
        ("it holds back", {"holding_back": True}),
        ("it took one", {"taken": 49}),
    ],
)
def test_one_look_that_explains_the_rest_makes_the_time_begin_anew(why: str, differently: dict[str, object]) -> None:
    for place in range(1, 12):
        seen = looks(seconds=60)
        seen[place] = replace(seen[place], **differently)  # type: ignore[arg-type] # fields of an observation
        assert stalled(seen, BOUNDS) is None, (why, place)


def test_a_loop_that_stands_still_for_a_minute_is_a_stall_whatever_else_is_known() -> None:
    still = [replace(look, turns=7, waiting=None, holding_back=True) for look in looks(seconds=60)]
    assert stalled(still, BOUNDS) == "has an event loop that did not turn for 60 s"
    assert stalled(still[1:], BOUNDS) is None  # 55 s
    still[-1] = replace(still[-1], turns=8)
    assert stalled(still, BOUNDS) is None


def test_a_process_that_was_stopped_as_a_whole_is_not_stalled_when_it_goes_on() -> None:
    """SIGSTOP, or a machine that slept: nothing turned, but nothing could."""
    seen = [BUSY, replace(BUSY, at=5, turns=1), replace(BUSY, at=500, turns=1), replace(BUSY, at=505, turns=1)]
    assert stalled(seen, BOUNDS) is None


def test_something_that_should_run_for_ever_and_ended_is_a_stall_at_once() -> None:
    assert stalled([replace(BUSY, ended=("heartbeat",))], BOUNDS) == "has lost heartbeat, which must always run"


def test_a_write_that_never_returns_is_a_stall_though_the_loop_turns() -> None:
    assert stalled([replace(BUSY, writing=120.5)], BOUNDS) == (
        "has waited 120 s for the ledger to accept one group of writes"
    )
    assert stalled([replace(BUSY, writing=120)], BOUNDS) is None


def test_a_worker_that_stops_is_judged_by_nothing_but_the_time_that_it_takes() -> None:
    stopping = [replace(look, stopping=look.at, turns=0) for look in looks(seconds=60, ended=("reconciler",))]
    assert stalled(stopping, BOUNDS) is None
    assert stalled([replace(BUSY, stopping=200.0)], BOUNDS) is None
    assert stalled([replace(BUSY, stopping=200.1)], BOUNDS) == "was asked to stop, but did not within 200 s"


@st.composite
def histories(draw: st.DrawFn) -> list[Observation]:
    seen, at, taken, turns = [], 0.0, 0, 0
    for _ in range(draw(st.integers(1, 40))):
        at += draw(st.sampled_from([5.0, 5.0, 5.0, 20.0, 31.0, 400.0]))
        taken += draw(st.sampled_from([0, 0, 0, 1]))
        turns += draw(st.sampled_from([0, 1, 1, 1]))
        seen.append(
            Observation(
                at=at,
                waiting=draw(st.sampled_from([None, 0, 5, 5, 5, 5])),
                taken=taken,
                in_flight=draw(st.sampled_from([0, 3, 3, 8])),
                holding_back=draw(st.sampled_from([False, False, False, True])),
                turns=turns,
            )
        )
    return seen


@given(histories())
def test_a_worker_is_never_stalled_that_made_progress_within_the_time(seen: list[Observation]) -> None:
    recent = [look for look in seen if look.at > seen[-1].at - BOUNDS.stalled_after]
    progress = any(a.taken < b.taken for a, b in pairwise(recent))
    turned = any(a.turns < b.turns for a, b in pairwise(recent))
    if progress and turned:
        assert stalled(seen, BOUNDS) is None


@given(histories(), st.floats(0, 1e6))
def test_the_judgement_does_not_depend_on_when_the_clock_began(seen: list[Observation], offset: float) -> None:
    offset = round(offset)  # so that sums stay exact
    moved = [replace(look, at=look.at + offset) for look in seen]
    assert stalled(moved, BOUNDS) == stalled(seen, BOUNDS)


@given(histories())
def test_more_patience_never_finds_more(seen: list[Observation]) -> None:
    patient = replace(BOUNDS, stalled_after=BOUNDS.stalled_after, write_within=1e9, stop_within=1e9)
    roomier = replace(patient, concurrency=4)  # fewer places: it could take less
    if stalled(seen, roomier) is not None:
        assert stalled(seen, patient) is not None


class Ending:
    """What a watchdog does to its process."""

    def __init__(self) -> None:
        self.stops = 0
        self.left: list[int] = []
        self.told: list[str | None] = []


def watchdog(ending: Ending, *, ends_by_itself: bool = True, bounds: WatchdogBounds = BOUNDS) -> Watchdog:
    def stop() -> None:
        ending.stops += 1
        if ends_by_itself:
            dog.end()

    dog = Watchdog(
        lambda: BUSY, bounds, tell=lambda _, verdict: ending.told.append(verdict), stop=stop, leave=ending.left.append
    )
    return dog


def watch(dog: Watchdog, seen: Sequence[Observation]) -> Iterator[str | None]:
    for look in seen:
        dog.look(look)
        yield dog.verdict


def test_a_stalled_worker_is_asked_to_stop_and_what_is_in_flight_is_finished() -> None:
    ending = Ending()
    dog = watchdog(ending)
    verdicts = list(watch(dog, looks(seconds=60)))
    assert verdicts[:-1] == [None] * 12
    assert dog.verdict is not None
    assert ending.told == verdicts
    assert (ending.stops, ending.left) == (1, [])  # whoever runs the worker leaves with the code


def test_a_stalled_worker_that_does_not_stop_leaves_with_its_own_code() -> None:
    ending = Ending()
    dog = watchdog(ending, ends_by_itself=False, bounds=replace(BOUNDS, farewell=0))
    list(watch(dog, looks(seconds=60)))
    assert (ending.stops, ending.left) == (1, [EXIT_STALLED])


def test_without_its_loop_a_worker_leaves_at_once() -> None:
    ending = Ending()
    list(watch(watchdog(ending), [replace(look, turns=7) for look in looks(seconds=60)]))
    assert (ending.stops, ending.left) == (0, [EXIT_STALLED])


def test_a_stop_that_hangs_is_ended() -> None:
    ending = Ending()
    list(watch(watchdog(ending), [BUSY, replace(BUSY, at=5, turns=5, stopping=201.0)]))
    assert (ending.stops, ending.left) == (0, [EXIT_STALLED])


def test_a_disk_without_room_for_the_alive_file_keeps_no_stalled_worker_alive() -> None:
    def tell(_: Observation, verdict: str | None) -> None:
        raise OSError("no space left on device")

    ending = Ending()
    dog = Watchdog(
        lambda: BUSY, replace(BOUNDS, farewell=0), tell=tell, stop=lambda: None, leave=ending.left.append
    )  # fmt: skip
    list(watch(dog, looks(seconds=60)))
    assert ending.left == [EXIT_STALLED]
