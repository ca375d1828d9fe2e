"""How long things are kept."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path


@dataclass(frozen=True)
class Policy:
    """How long things are kept; None: for ever."""

    batches: timedelta | None = None
    answers: timedelta | None = None
    archive: Path | None = None  # where batches are archived first

    @property
    def deletes(self) -> bool:
        """Whether anything is ever deleted."""
        return self.batches is not None or self.answers is not None
