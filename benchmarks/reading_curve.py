"""The reading curve: how many of a review's included records are found after a number of records was read."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

RECALLS = (0.95, 0.98, 1.0)


@dataclass(frozen=True)
class ReadingCurve:
    """The reading curve of one order of reading."""

    records: int
    includes: int
    found_at: tuple[int, ...]  # for each include that was found, the number of records read by then

    @classmethod
    def of(cls, order: Sequence[int], labels: Sequence[bool]) -> "ReadingCurve":
        """Return the curve for rows in the order of reading. Rows that `order` lacks are not read."""
        if len(set(order)) != len(order):
            raise ValueError("a record is read twice in this order")
        found = tuple(read for read, row in enumerate(order, 1) if labels[row])
        return cls(len(labels), sum(labels), found)

    def wanted(self, recall: float) -> int:
        """Return the included records needed for this recall: for 95 % of 36, it is 35."""
        return ceil(Fraction(str(recall)) * self.includes)

    def read_for(self, recall: float) -> int | None:
        """Return the number of records read until this share of the includes is found; None if it never was."""
        wanted = self.wanted(recall)
        return None if wanted > len(self.found_at) else self.found_at[wanted - 1] if wanted else 0

    def share_read(self, recall: float) -> float | None:
        """Return the share of all records read until this share of the includes is found; None if it never was."""
        read = self.read_for(recall)
        return None if read is None else read / self.records

    def saved(self, recall: float = 0.95) -> float | None:
        """Return the work saved over sampling (WSS): `recall - share_read(recall)`; None if the recall never was."""
        share = self.share_read(recall)
        return None if share is None else recall - share

    def recall_after(self, read: int) -> float:
        """Return the share of the includes that are among the first `read` records."""
        return sum(at <= read for at in self.found_at) / self.includes
