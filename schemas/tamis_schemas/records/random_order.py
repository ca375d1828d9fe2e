"""The order of a random draw of records for people: the same on every machine."""

import secrets
from collections.abc import Iterable
from hashlib import sha256
from heapq import nsmallest

from ..errors import InvalidParameters

LARGEST_SEED = 2**63 - 1
NEW_SEED_BITS = 31  # short enough to copy by hand


def sample(population: Iterable[int], n: int, *, seed: int) -> list[int]:
    """Return a random sample of `n` places, in the order of the SHA-256 of `seed:place`.

    The same seed gives the same sample on every machine and in every release. A smaller sample is the beginning of a
    larger sample.
    """
    return nsmallest(n, population, key=lambda place: sha256(f"{seed}:{place}".encode()).digest())


def seed_or_new(seed: int | None) -> int:
    """Return the seed, or a random new seed if it is None."""
    return secrets.randbits(NEW_SEED_BITS) if seed is None else seed


def check_draw(n: int, seed: int) -> None:
    """Raise `InvalidParameters` if `n` is below 1 or a boolean, or the seed is invalid."""
    if isinstance(n, bool) or n < 1:
        raise InvalidParameters(f"n: {n!r} must be a number of records, at least 1")
    if isinstance(seed, bool) or not 0 <= seed <= LARGEST_SEED:
        raise InvalidParameters(f"seed: {seed!r} must be a whole number from 0 to {LARGEST_SEED}")
