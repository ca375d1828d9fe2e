"""Whose turn it is: shares by weight, and nobody is forgotten."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tamis_producer.transport.fair_queues import WeightedOrder, weight
from tamis_schemas import Priority
from tamis_schemas.batches import wire

LOW, NORMAL, HIGH = (wire.ItemQueue(priority, 0).name for priority in Priority)
OTHER_NORMAL = wire.ItemQueue(Priority.NORMAL, 1).name


def served(order: WeightedOrder, filled: set[str], turns: int) -> list[str]:
    """Which queues are served where exactly these hold messages."""
    taken = []
    for _ in range(turns):
        first = next(name for name in order.consume(len(wire.ITEM_QUEUES) + 1) if name in filled)
        taken.append(order.rotate(first))
    return taken


def test_full_queues_are_served_by_their_weights() -> None:
    order = WeightedOrder(wire.ITEM_QUEUES)
    # 1 + 4 + 4 + 16 = 25 turns a round
    counts = Counter(served(order, {LOW, NORMAL, OTHER_NORMAL, HIGH}, 40 * 25))
    assert {name: round(count / 40) for name, count in counts.items()} == {LOW: 1, NORMAL: 4, OTHER_NORMAL: 4, HIGH: 16}


def test_two_batches_of_one_priority_take_turns() -> None:
    turns = served(WeightedOrder(wire.ITEM_QUEUES), {NORMAL, OTHER_NORMAL}, 10)
    assert Counter(turns[:2]) == Counter(turns[2:4]) == Counter({NORMAL: 1, OTHER_NORMAL: 1})


def test_a_queue_that_was_empty_does_not_catch_up() -> None:
    order = WeightedOrder(wire.ITEM_QUEUES)
    served(order, {NORMAL}, 1000)
    counts = Counter(served(order, {NORMAL, OTHER_NORMAL}, 100))
    assert counts[NORMAL] >= 49


def test_a_newcomer_is_served_next() -> None:
    order = WeightedOrder(wire.ITEM_QUEUES)
    served(order, {NORMAL}, 1000)
    assert OTHER_NORMAL in served(order, {NORMAL, OTHER_NORMAL}, 2)


def test_aggregates_go_before_all_items() -> None:
    order = WeightedOrder([*wire.ITEM_QUEUES, wire.CONTROL_QUEUE])
    served(order, {HIGH}, 50)
    counts = Counter(served(order, {HIGH, NORMAL, wire.CONTROL_QUEUE}, 100))
    assert counts[wire.CONTROL_QUEUE] >= 95


def test_queues_named_anew_keep_their_turn() -> None:
    order = WeightedOrder([NORMAL, OTHER_NORMAL])
    order.rotate(NORMAL)
    order.update([NORMAL, OTHER_NORMAL, HIGH])
    assert order.consume(3)[-1] == NORMAL


def test_a_queue_of_another_release_counts_as_normal() -> None:
    assert weight("items") == Priority.NORMAL.weight


@given(st.lists(st.sets(st.sampled_from(sorted(wire.ITEM_QUEUES)), min_size=1), min_size=1, max_size=60))
def test_whoever_stays_filled_is_served_within_a_bounded_number_of_turns(filled: list[set[str]]) -> None:
    order = WeightedOrder(wire.ITEM_QUEUES)
    for names in filled:  # whatever came before
        served(order, names, 3)
    # Everybody filled: a round has LANES x (1 + 4 + 16) turns, and nobody waits longer than two of them.
    turns = served(order, set(wire.ITEM_QUEUES), 2 * wire.LANES * 21)
    assert set(turns) == set(wire.ITEM_QUEUES)
