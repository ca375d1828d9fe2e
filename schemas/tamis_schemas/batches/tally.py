"""Numbers of records by kind, and the places where records part: what a flow is made of."""

from pydantic import Field

from ..values.frozen import Frozen


class Tally(Frozen):
    """The number of records of one kind: from one file, under one rule, for one reason."""

    name: str
    n: int = Field(ge=0)


def total(tallies: tuple[Tally, ...]) -> int:
    """The records of all kinds together."""
    return sum(tally.n for tally in tallies)


def tallies(counted: dict[str, int]) -> tuple[Tally, ...]:
    """The numbers under their names."""
    return tuple(Tally(name=name, n=n) for name, n in counted.items())


class Arrow(Frozen):
    """A place where records part: what came there, and the ways on."""

    place: str
    arrived: int
    ways: tuple[Tally, ...]

    @property
    def adds_up(self) -> bool:
        """True where every record that arrived went one of the ways."""
        return self.arrived == total(self.ways)
