"""The claims that a process knows it holds: what it evaluates now. Claiming, evaluating and the lease all ask here."""

from collections.abc import Iterator
from contextlib import contextmanager

from .claims import ItemKey


class HeldClaims:
    """The items that are claimed and being evaluated in this process; one per worker, on its loop."""

    def __init__(self) -> None:
        self._keys: set[ItemKey] = set()

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    @property
    def keys(self) -> frozenset[ItemKey]:
        """The items as they are now."""
        return frozenset(self._keys)

    @contextmanager
    def hold(self, key: ItemKey) -> Iterator[None]:
        """Know of a claim for as long as its item is evaluated."""
        self._keys.add(key)
        try:
            yield
        finally:
            self._keys.discard(key)
