"""The curve of finding: how many of a review's included records are found after so many have been read."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

RECALLS = (0.95, 0.98, 1.0)


@dataclass(frozen=True)
class ReadingCurve:
    """What an order of reading finds, and when."""

    records: int
    includes: int
    found_at: tuple[int, ...]  # records read when the first, the second, ... included one was found

    @classmethod
    def of(cls, order: Sequence[int], labels: Sequence[bool]) -> "ReadingCurve":
        """Rows in the order in which they are read; those that are not in it are not read."""
        if len(set(order)) != len(order):
            raise ValueError("a record is read twice in this order")
        found = tuple(read for read, row in enumerate(order, 1) if labels[row])
        return cls(len(labels), sum(labels), found)

    def wanted(self, recall: float) -> int:
        """Included records that make up this recall: 95 % of 36 are 35."""
        return ceil(Fraction(str(recall)) * self.includes)

    def read_for(self, recall: float) -> int | None:
        """Records read until this share of the included ones is found; None: it never was."""
        wanted = self.wanted(recall)
        return None if wanted > len(self.found_at) else self.found_at[wanted - 1] if wanted else 0

    def share_read(self, recall: float) -> float | None:
        """The same as a share of all records."""
        read = self.read_for(recall)
        return None if read is None else read / self.records

    def saved(self, recall: float = 0.95) -> float | None:
        """Work saved over sampling (WSS): the share left unread, less what reading at random would have left."""
        share = self.share_read(recall)
        return None if share is None else recall - share

    def recall_after(self, read: int) -> float:
        """The share of the included records among the first so many that are read."""
        return sum(at <= read for at in self.found_at) / self.includes
