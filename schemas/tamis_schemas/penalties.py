"""The numbers by which confidences are lowered: used where they are, and where it is explained afterwards."""

from typing import Final, NamedTuple

QUOTE_PENALTY: Final = 0.5  # the share of a confidence that is lost where no quote is in the record


class Band(NamedTuple):
    """A range of the quality of evidence that keeps more of a confidence than the quality itself (spec 5)."""

    low: float  # included
    high: float  # included
    most: float
    added: float

    def holds(self, quality: float) -> bool:
        """True where the quality is in the range."""
        return self.low <= quality <= self.high

    def share(self, quality: float) -> float:
        """What is kept of a confidence: `min(most, quality + added)`."""
        return min(self.most, quality + self.added)


MILDER_BANDS: Final = (Band(0.6, 0.8, 0.85, 0.15), Band(0.3, 0.5, 0.65, 0.25))
