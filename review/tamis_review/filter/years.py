"""The years of a paper, as far as they are known."""

import re
from dataclasses import dataclass

from tamis_schemas.records.paper import PaperData

PLAUSIBLE = range(1500, 2200)  # any other number is no year of a publication, and so unknown
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|2[01])\d\d(?!\d)")
_LONGEST_DATE = 100  # characters


@dataclass(frozen=True)
class Year:
    """A year, and the field in which it stands."""

    value: int
    field: str
    start: int
    end: int

    @property
    def text(self) -> str:
        return str(self.value)


def years_of(paper: PaperData) -> list[Year]:
    """Every year that the paper names: its `year`, and those of its `publication_date`."""
    years: list[Year] = []
    if paper.year is not None and paper.year in PLAUSIBLE:
        years.append(Year(paper.year, "year", 0, len(str(paper.year))))
    if paper.publication_date is not None:
        for match in _YEAR.finditer(paper.publication_date[:_LONGEST_DATE]):
            years.append(Year(int(match[0]), "publication_date", *match.span()))
    return years
