"""Exploration: a small share of places in the reading order for records drawn at random.

A model that searches only near its finds never learns of an unseen topic.
"""

import random
from collections.abc import Sequence
from math import floor

from tamis_schemas.records.random_order import sample

EXPLORE = 0.02  # share of places: one in fifty


def explored_places(first: int, n: int, share: float, seed: int) -> list[bool]:
    """Return for each of n places whether its record is drawn at random; places count all records read, from 0.

    They are 1 / share apart, from an offset that the seed draws: n * share of n places, give or take one.
    """
    offset = random.Random(f"exploration:{seed}").random()  # noqa: S311 - no secret
    before = [floor(place * share + offset) for place in range(first, first + n + 1)]
    return [before[place + 1] > before[place] for place in range(n)]


def with_exploration(best: Sequence[int], *, read: int, share: float, seed: int) -> tuple[list[int], frozenset[int]]:
    """Return the rows of an order with randomly drawn rows in their places, and the set of drawn rows.

    Args:
        best: rows, best first.
        read: the number of decided records, which is the place of the first row.
        share: of the places.
        seed: draws places and records.
    """
    if not share:
        return list(best), frozenset()
    orders = {False: iter(best), True: iter(sample(best, len(best), seed=seed))}
    placed: dict[int, bool] = {}
    for by_lot in explored_places(read, len(best), share, seed):
        placed[next(row for row in orders[by_lot] if row not in placed)] = by_lot
    return list(placed), frozenset(row for row, by_lot in placed.items() if by_lot)
