"""The priority of a batch among others."""

from enum import StrEnum


class Priority(StrEnum):
    """The rank of a batch where several wait for the same workers and the same limit; nobody waits for ever."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"

    @property
    def weight(self) -> int:
        """Its share of the turns, relative to the others': 1, 4 or 16."""
        return _WEIGHTS[self]


_WEIGHTS = {Priority.LOW: 1, Priority.NORMAL: 4, Priority.HIGH: 16}
