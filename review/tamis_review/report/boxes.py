"""The boxes of a flow as they are drawn, listed and written alike: their words and numbers."""

from dataclasses import dataclass

from tamis_schemas.batches.flow import Tally, total

IDENTIFICATION, SCREENING, INCLUDED, EVALUATION = "Identification", "Screening", "Included", "Evaluation"


@dataclass(frozen=True)
class BoxLine:
    """One part of a box; one of `depth` 1 is a part of the last one of depth 0."""

    text: str
    n: int | None = None
    depth: int = 0


@dataclass(frozen=True)
class Box:
    """A box: what it holds, how many records, and their parts."""

    title: str
    n: int
    lines: tuple[BoxLine, ...] = ()
    counted: bool = True  # False: in the drawing its parts alone say how many


@dataclass(frozen=True)
class Step:
    """A box of the main column with the boxes that leave it to the side."""

    phase: str
    box: Box
    sides: tuple[Box, ...] = ()
    column: str = ""  # of a figure with several columns, the heading of this one

    @property
    def place(self) -> str:
        """The phase, and in a figure with several columns which of them."""
        return f"{self.phase}: {self.column}" if self.column else self.phase


def parts(tallies: tuple[Tally, ...], depth: int, most: int | None) -> tuple[BoxLine, ...]:
    """A line for each kind; of more than `most` the last ones are taken together."""
    lines = [BoxLine(tally.name, tally.n, depth) for tally in tallies]
    if most is None or len(lines) <= most:
        return tuple(lines)
    rest = tallies[most - 1 :]
    return (*lines[: most - 1], BoxLine(f"{len(rest)} further", total(rest), depth))


def counted_lines(*lines: tuple[str, int]) -> tuple[BoxLine, ...]:
    """A line for each number that is not 0."""
    return tuple(BoxLine(text, n) for text, n in lines if n)
