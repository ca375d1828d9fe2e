"""Exploration: a small share of the places in the reading order goes to records drawn at random.

A model that proposes only records like the known includes never finds a new topic.
"""

import random
from collections.abc import Sequence
from math import floor

from tamis_schemas.records.random_order import sample

EXPLORE = 0.02  # share of places: one in fifty


def explored_places(first: int, n: int, share: float, seed: int) -> list[bool]:
    """Return `n` booleans, for the places `first`, `first` + 1, ... of the order: True for a record drawn at random.

    Places count from 0. Random places are about 1 / share apart; the seed decides the first. So n places contain n *
    share random places, give or take one.
    """
    offset = random.Random(f"exploration:{seed}").random()  # noqa: S311 - no secret
    before = [floor(place * share + offset) for place in range(first, first + n + 1)]
    return [before[place + 1] > before[place] for place in range(n)]


def with_exploration(best: Sequence[int], *, read: int, share: float, seed: int) -> tuple[list[int], frozenset[int]]:
    """Return an order in which some records are drawn at random, and the set of the drawn records.

    A record is given by its row number.

    Args:
        best: rows, best first.
        read: the number of decided records, which is the place of the first row.
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
