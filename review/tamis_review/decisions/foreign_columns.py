"""The columns of a table of decisions: named by the caller, or guessed from what people and programs call them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tamis_schemas import InputError

from ..intake.columns import canonical_name

DECISION, REVIEWER, REASON, NOTE, RETRIEVAL = "decision", "reviewer", "reason", "note", "retrieval"
RECORD = ("id", "title", "doi", "pmid")  # by which a record is found
LISTED = 30  # column names in a message

# What people and programs call them; a table may have one of each.
_NAMES: Mapping[str, tuple[str, ...]] = {
    DECISION: (
        *("decision", "response", "vote", "verdict", "label", "included", "include", "screening decision"),
        *("final decision", "full text decision", "title abstract decision", "human decision", "label included"),
    ),
    REVIEWER: ("reviewer", "screener", "rater", "decided by", "reviewer name"),
    REASON: ("reason", "reason for exclusion", "exclusion reason", "exclusion reasons", "exclude reason", "reasons"),
    NOTE: ("note", "notes", "comment", "comments", "asreview note"),
    RETRIEVAL: ("retrieved", "retrieval", "full text retrieved"),
}
_ASREVIEW = "asreview label"  # the data set's own labels, which were known before, stand beside it as `included`


@dataclass(frozen=True)
class TableColumns:
    """Names of columns; None: to be guessed. An empty name: the table has none."""

    id: str | None = None
    decision: str | None = None
    reviewer: str | None = None
    reason: str | None = None
    note: str | None = None
    retrieval: str | None = None


@dataclass(frozen=True)
class Header:
    """The row that names the columns."""

    cells: Sequence[str]

    @cached_property
    def plain(self) -> list[str]:
        """The names without case, underscores and blanks around them."""
        return [_plain(cell) for cell in self.cells]

    @property
    def width(self) -> int:
        return len(self.cells)

    @property
    def known(self) -> int:
        """How many of the columns have a name that says what they hold."""
        ours = {name for names in _NAMES.values() for name in names} | {_ASREVIEW}
        return sum(
            canonical_name(cell) is not None or plain in ours
            for cell, plain in zip(self.cells, self.plain, strict=True)
        )

    @property
    def repeated(self) -> str | None:
        """A name that stands twice, if one does."""
        return next((name for name in self.plain if name and self.plain.count(name) > 1), None)

    @property
    def notes(self) -> int | None:
        """The place of the column in which Rayyan keeps decisions."""
        return next((place for place, name in enumerate(self.plain) if name in ("notes", "note")), None)

    def record_places(self, named: TableColumns, path: Path) -> dict[str, int]:
        """The columns by which a row's record is found: id, title, doi, pmid. Raises `InputError` as `places`."""
        found: dict[str, int] = {}
        for place, cell in enumerate(self.cells):
            role = canonical_name(cell)
            if role in RECORD:
                found.setdefault(role, place)
        return found | ({"id": self._named(named.id, path)} if named.id else {})

    def places(self, named: TableColumns, path: Path, *, decision: bool) -> dict[str, int]:
        """The columns of what was said. `decision`: whether there must be one of decisions.

        Raises `InputError`: a named column is not there, several could hold the decision, or none does.
        """
        places = {}
        for role in _NAMES:
            name = getattr(named, role)
            if name:
                places[role] = self._named(name, path)
            elif name is None and (role != DECISION or decision):
                guessed = self._guessed(role)
                if role == DECISION and len(guessed) != 1:
                    raise InputError(self._which(guessed), path=path)
                if len(guessed) == 1:
                    places[role] = guessed[0]
        return places

    def shown(self, places: Mapping[str, int]) -> dict[str, str]:
        """What is read -> the column's own name, for people."""
        return {role: self.cells[place].strip() for role, place in places.items()}

    def _named(self, name: str, path: Path) -> int:
        if _plain(name) not in self.plain:
            raise InputError(f"no column {name!r}; there are: {self._listed}", path=path)
        return self.plain.index(_plain(name))

    def _guessed(self, role: str) -> list[int]:
        if role == DECISION and _ASREVIEW in self.plain:
            return [self.plain.index(_ASREVIEW)]
        return [place for place, name in enumerate(self.plain) if name in _NAMES[role]]

    def _which(self, guessed: Sequence[int]) -> str:
        if guessed:
            several = ", ".join(repr(self.cells[place].strip()) for place in guessed)
            return f"several columns could hold the decisions: {several}; say which one with --decision-column"
        return (
            f"no column is known to hold decisions: name it with --decision-column; there are: {self._listed}. Of a "
            "file that lists the records of one decision, as Covidence's exports do, say which: --all include, or "
            "--all exclude"
        )

    @property
    def _listed(self) -> str:
        names = [cell.strip() for cell in self.cells if cell.strip()]
        return ", ".join(repr(name[:40]) for name in names[:LISTED]) + ("" if len(names) <= LISTED else ", ...")


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", " ", name).strip().casefold()
