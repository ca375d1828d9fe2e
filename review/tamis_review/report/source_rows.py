"""The sources of a report as the rows of a table: what each is, when it was searched, what it gave."""

from dataclasses import dataclass

from .figures import Figures

NOT_KNOWN = "–"


@dataclass(frozen=True)
class SourceRow:
    """One source."""

    name: str
    kind: str
    searched: str
    identified: int
    duplicates: int
    screened: int


def source_rows(figures: Figures) -> tuple[SourceRow, ...]:
    """A row for each source, in the order in which they were named; none where nothing is known of them."""
    if not figures.flow.sources:
        return ()
    pairs = zip(figures.screening.sources, figures.flow.sources, strict=True)
    return tuple(
        SourceRow(
            name=counted.name,
            kind=counted.kind.value,
            searched=NOT_KNOWN if source.searched is None else source.searched.isoformat(),
            identified=counted.identified,
            duplicates=counted.duplicates,
            screened=counted.screened,
        )
        for source, counted in pairs
    )
