"""Whose turn it is."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import Priority
from tamis_worker.limiter.fair_queue import FairQueue, Waiter

LOOP = asyncio.new_event_loop()
LOOP.close()


def waiter(name: object = None, estimate: int = 1) -> Waiter[object]:
    one: Waiter[object] = Waiter(estimate, asyncio.Future(loop=LOOP))
    one.future.set_result(name)
    return one


def serve(queue: FairQueue[object]) -> object:
    head = queue.head()
    assert head is not None
    queue.serve()
    return head.future.result()


def test_within_a_batch_it_is_first_come_first_served() -> None:
    queue = FairQueue[object]()
    for number in range(5):
        queue.join(waiter(number), "batch", 4)
    assert [serve(queue) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert queue.head() is None


def test_a_small_batch_is_not_behind_a_large_one() -> None:
    queue = FairQueue[object]()
    for _ in range(500):
        queue.join(waiter("large"), "large", 4)
    for _ in range(100):
        serve(queue)
    for _ in range(20):
        queue.join(waiter("small"), "small", 4)
    served = [serve(queue) for _ in range(40)]
    assert served.count("small") == 20


def test_priorities_have_16_to_4_to_1_turns() -> None:
    queue = FairQueue[object]()
    for priority in Priority:
        for _ in range(300):
            queue.join(waiter(priority), priority, priority.weight)
    served = Counter(serve(queue) for _ in range(210))
    assert served == {Priority.HIGH: 160, Priority.NORMAL: 40, Priority.LOW: 10}


@given(
    weights=st.lists(st.sampled_from([1, 4, 16]), min_size=1, max_size=6),
    turns=st.integers(1, 400),
    leavers=st.sets(st.integers(0, 399)),
)
def test_grants_converge_to_weights_and_nobody_starves(weights: list[int], turns: int, leavers: set[int]) -> None:
    queue = FairQueue[object]()
    for batch, weight in enumerate(weights):
        for _ in range(2):
            queue.join(waiter(batch), batch, weight)
    served: Counter[object] = Counter()
    for turn in range(turns):
        whose = serve(queue)
        assert isinstance(whose, int)
        served[whose] += 1
        queue.join(waiter(whose), whose, weights[whose])
        if turn in leavers:  # one who gives up costs its batch no turn
            gone = waiter("gone")
            queue.join(gone, whose, weights[whose])
            queue.leave(gone)
    for batch, weight in enumerate(weights):
        # One turn of each batch is the difference to the ideal, at most.
        assert abs(served[batch] - turns * weight / sum(weights)) <= 1 + len(weights)


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["join", "serve", "leave"]), st.integers(0, 3), st.integers(0, 50)), max_size=120
    )
)
def test_length_mean_and_weight_are_those_of_who_waits(steps: list[tuple[str, int, int]]) -> None:
    queue = FairQueue[object]()
    waiting: dict[int, tuple[Waiter[object], int, int]] = {}
    for number, (what, batch, estimate) in enumerate(steps):
        if what == "join":
            one = waiter(number, estimate)
            queue.join(one, batch, 4**batch)
            waiting[number] = (one, batch, estimate)
        elif waiting and what == "serve":
            served = serve(queue)
            assert isinstance(served, int)
            _, its_batch, _ = waiting.pop(served)
            assert not any(other < served for other, (_, same, _) in waiting.items() if same == its_batch)
        elif waiting:
            one, _, _ = waiting.pop(min(waiting, key=lambda key: (key * 7919) % 101))
            queue.leave(one)
            queue.leave(one)  # a second time changes nothing
        assert len(queue) == len(waiting)
        assert queue.weight == sum({batch: 4**batch for _, batch, _ in waiting.values()}.values())
        if waiting:
            assert queue.mean == -(-sum(estimate for *_, estimate in waiting.values()) // len(waiting))
    left = queue.drain()
    assert {id(one) for one in left} == {id(one) for one, *_ in waiting.values()}
    assert queue.head() is None
    assert (len(queue), queue.mean, queue.weight) == (0, 0, 0)


def test_a_batch_that_comes_back_has_saved_no_turns() -> None:
    queue = FairQueue[object]()
    queue.join(waiter("a"), "a", 4)
    for _ in range(50):
        queue.join(waiter("b"), "b", 4)
    for _ in range(30):
        serve(queue)
    for _ in range(20):
        queue.join(waiter("a"), "a", 4)
    served = Counter(serve(queue) for _ in range(10))
    assert served["a"] == pytest.approx(5, abs=1)


def test_thousands_of_batches_that_are_over_are_forgotten() -> None:
    queue = FairQueue[object]()
    for batch in range(5_000):
        queue.join(waiter(batch), batch, 4)
        serve(queue)
    assert len(queue._batches) <= 1_001


def test_a_batch_that_gets_another_weight_has_its_turns_from_now_on() -> None:
    queue = FairQueue[object]()
    for batch in ("slow", "other"):
        for _ in range(300):
            queue.join(waiter(batch), batch, 1)
    assert Counter(serve(queue) for _ in range(20)) == {"slow": 10, "other": 10}
    queue.reweigh("slow", 16)
    assert queue.weight == 17
    served = Counter(serve(queue) for _ in range(170))
    assert abs(served["slow"] - 160) <= 2


def test_a_raised_batch_does_not_wait_for_the_turn_that_its_old_weight_gave_it() -> None:
    queue = FairQueue[object]()
    for _ in range(100):
        queue.join(waiter("low"), "low", 1)
        queue.join(waiter("high"), "high", 16)
    while serve(queue) != "low":
        pass  # its next turn comes after sixteen of the other
    queue.reweigh("low", 16)
    assert "low" in [serve(queue) for _ in range(2)]


def test_what_is_lowered_waits_longer_and_what_does_not_wait_or_is_unknown_changes_nothing() -> None:
    queue = FairQueue[object]()
    for _ in range(300):
        queue.join(waiter("a"), "a", 16)
        queue.join(waiter("b"), "b", 16)
    queue.reweigh("a", 1)
    queue.reweigh("nobody", 4)
    assert queue.weight == 17
    served = Counter(serve(queue) for _ in range(170))
    assert abs(served["b"] - 160) <= 2
    queue.drain()
    assert queue.weight == 0
    queue.reweigh("a", 4)
    assert queue.weight == 0
