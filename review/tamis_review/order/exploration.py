"""Exploration: a small share of places in the reading order goes to records that chance draws.

A model that looks only where it has found something never learns of a topic that it has not seen.
"""

import random
from collections.abc import Sequence
from math import floor

from tamis_schemas.records.random_order import sample

EXPLORE = 0.02  # the share of places: one in fifty


def explored_places(first: int, n: int, share: float, seed: int) -> list[bool]:
    """Return for each of n places whether chance draws its record; places count all records that people read, from 0.

    They lie 1 / share apart, from an offset that the seed draws: of n places n * share do, give or take one.
    """
    offset = random.Random(f"exploration:{seed}").random()  # noqa: S311 - no secret
    before = [floor(place * share + offset) for place in range(first, first + n + 1)]
    return [before[place + 1] > before[place] for place in range(n)]


def with_exploration(best: Sequence[int], *, read: int, share: float, seed: int) -> tuple[list[int], frozenset[int]]:
    """Return the rows of an order with those that chance draws in their places, and which these are.

    Args:
        best: rows, best first.
        read: how many records are decided already, which is the place of the first one.
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
