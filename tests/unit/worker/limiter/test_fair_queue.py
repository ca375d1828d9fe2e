"""Whose turn it is."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import Priority
from tamis_worker.limiter.fair_queue import Waiter, WaitingLine

LOOP = asyncio.new_event_loop()
LOOP.close()


def waiter(name: object = None, estimate: int = 1) -> Waiter[object]:
    one: Waiter[object] = Waiter(estimate, asyncio.Future(loop=LOOP))
    one.future.set_result(name)
    return one


def serve(line: WaitingLine[object]) -> object:
    head = line.head()
    assert head is not None
    line.serve()
    return head.future.result()


def test_within_a_batch_it_is_first_come_first_served() -> None:
    line = WaitingLine[object]()
    for number in range(5):
        line.join(waiter(number), "batch", 4)
    assert [serve(line) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert line.head() is None


def test_a_small_batch_is_not_behind_a_large_one() -> None:
    line = WaitingLine[object]()
    for _ in range(500):
        line.join(waiter("large"), "large", 4)
    for _ in range(100):
        serve(line)
    for _ in range(20):
        line.join(waiter("small"), "small", 4)
    served = [serve(line) for _ in range(40)]
    assert served.count("small") == 20


def test_priorities_have_16_to_4_to_1_turns() -> None:
    line = WaitingLine[object]()
    for priority in Priority:
        for _ in range(300):
            line.join(waiter(priority), priority, priority.weight)
    served = Counter(serve(line) for _ in range(210))
    assert served == {Priority.HIGH: 160, Priority.NORMAL: 40, Priority.LOW: 10}


@given(
    weights=st.lists(st.sampled_from([1, 4, 16]), min_size=1, max_size=6),
    turns=st.integers(1, 400),
    leavers=st.sets(st.integers(0, 399)),
)
def test_grants_converge_to_weights_and_nobody_starves(weights: list[int], turns: int, leavers: set[int]) -> None:
    line = WaitingLine[object]()
    for batch, weight in enumerate(weights):
        for _ in range(2):
            line.join(waiter(batch), batch, weight)
    served: Counter[object] = Counter()
    for turn in range(turns):
        whose = serve(line)
        assert isinstance(whose, int)
        served[whose] += 1
        line.join(waiter(whose), whose, weights[whose])
        if turn in leavers:  # one who gives up costs its batch no turn
            gone = waiter("gone")
            line.join(gone, whose, weights[whose])
            line.leave(gone)
    for batch, weight in enumerate(weights):
        # One turn of each batch is the difference to the ideal, at most.
        assert abs(served[batch] - turns * weight / sum(weights)) <= 1 + len(weights)


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["join", "serve", "leave"]), st.integers(0, 3), st.integers(0, 50)), max_size=120
    )
)
def test_length_mean_and_weight_are_those_of_who_waits(steps: list[tuple[str, int, int]]) -> None:
    line = WaitingLine[object]()
    waiting: dict[int, tuple[Waiter[object], int, int]] = {}
    for number, (what, batch, estimate) in enumerate(steps):
        if what == "join":
            one = waiter(number, estimate)
            line.join(one, batch, 4**batch)
            waiting[number] = (one, batch, estimate)
        elif waiting and what == "serve":
            served = serve(line)
            assert isinstance(served, int)
            _, its_batch, _ = waiting.pop(served)
            assert not any(other < served for other, (_, same, _) in waiting.items() if same == its_batch)
        elif waiting:
            one, _, _ = waiting.pop(min(waiting, key=lambda key: (key * 7919) % 101))
            line.leave(one)
            line.leave(one)  # a second time changes nothing
        assert len(line) == len(waiting)
        assert line.weight == sum({batch: 4**batch for _, batch, _ in waiting.values()}.values())
        if waiting:
            assert line.mean == -(-sum(estimate for *_, estimate in waiting.values()) // len(waiting))
    left = line.drain()
    assert {id(one) for one in left} == {id(one) for one, *_ in waiting.values()}
    assert line.head() is None
    assert (len(line), line.mean, line.weight) == (0, 0, 0)


def test_a_batch_that_comes_back_has_saved_no_turns() -> None:
    line = WaitingLine[object]()
    line.join(waiter("a"), "a", 4)
    for _ in range(50):
        line.join(waiter("b"), "b", 4)
    for _ in range(30):
        serve(line)
    for _ in range(20):
        line.join(waiter("a"), "a", 4)
    served = Counter(serve(line) for _ in range(10))
    assert served["a"] == pytest.approx(5, abs=1)


def test_thousands_of_batches_that_are_over_are_forgotten() -> None:
    line = WaitingLine[object]()
    for batch in range(5_000):
        line.join(waiter(batch), batch, 4)
        serve(line)
    assert len(line._batches) <= 1_001


def test_a_batch_that_gets_another_weight_has_its_turns_from_now_on() -> None:
    line = WaitingLine[object]()
    for batch in ("slow", "other"):
        for _ in range(300):
            line.join(waiter(batch), batch, 1)
    assert Counter(serve(line) for _ in range(20)) == {"slow": 10, "other": 10}
    line.reweigh("slow", 16)
    assert line.weight == 17
    served = Counter(serve(line) for _ in range(170))
    assert abs(served["slow"] - 160) <= 2


def test_a_raised_batch_does_not_wait_for_the_turn_that_its_old_weight_gave_it() -> None:
    line = WaitingLine[object]()
    for _ in range(100):
        line.join(waiter("low"), "low", 1)
        line.join(waiter("high"), "high", 16)
    while serve(line) != "low":
        pass  # its next turn comes after sixteen of the other
    line.reweigh("low", 16)
    assert "low" in [serve(line) for _ in range(2)]


def test_what_is_lowered_waits_longer_and_what_does_not_wait_or_is_unknown_changes_nothing() -> None:
    line = WaitingLine[object]()
    for _ in range(300):
        line.join(waiter("a"), "a", 16)
        line.join(waiter("b"), "b", 16)
    line.reweigh("a", 1)
    line.reweigh("nobody", 4)
    assert line.weight == 17
    served = Counter(serve(line) for _ in range(170))
    assert abs(served["b"] - 160) <= 2
    line.drain()
    assert line.weight == 0
    line.reweigh("a", 4)
    assert line.weight == 0
