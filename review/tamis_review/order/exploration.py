"""Exploration: a small share of the places in the reading order goes to records drawn at random.

A model that proposes only records like the known includes never finds a new topic.
"""

import random
from collections.abc import Sequence
from math import floor

from tamis_schemas.records.random_order import sample

EXPLORE = 0.02  # share of places: one in fifty


def explored_places(first: int, n: int, share: float, seed: int) -> list[bool]:
    """Return a boolean for each of the `n` places `first`, `first` + 1, ... of the order: True for a random record.

    Places count from 0. Places of random records are about 1 / share apart, and the seed shifts them all together. So n
    places contain n * share random records, give or take one.
    """
    offset = random.Random(f"exploration:{seed}").random()  # noqa: S311 - no secret
    before = [floor(place * share + offset) for place in range(first, first + n + 1)]
    return [before[place + 1] > before[place] for place in range(n)]


def with_exploration(best: Sequence[int], *, read: int, share: float, seed: int) -> tuple[list[int], frozenset[int]]:
    """Return the rows of `best` in an order with some rows drawn at random, and the set of the drawn rows.

    Args:
        best: the row numbers of the undecided records, best first.
        read: the number of decided records. The first row gets this place, counted from 0.
        share: the share of places for drawn rows, 0 to 1.
        seed: decides the random draws.
    """
    if not share:
        return list(best), frozenset()
    orders = {False: iter(best), True: iter(sample(best, len(best), seed=seed))}
    placed: dict[int, bool] = {}
    for by_lot in explored_places(read, len(best), share, seed):
        placed[next(row for row in orders[by_lot] if row not in placed)] = by_lot
    return list(placed), frozenset(row for row, by_lot in placed.items() if by_lot)
