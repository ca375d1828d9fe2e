"""The decisions of a published review's people, imported into a batch of its records.

Each table is imported as published: titles without punctuation, no identifier. If no record or several records match a
row, the row is imported again with the id of its record from `review_rows.py`. Rows that still have no record are
listed.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tamis_producer import Batch
from tamis_review import import_decisions
from tamis_schemas import HumanStage

from .replay_inputs import Decision

COLUMNS = ("id", "title", "decision", "reason")


@dataclass(frozen=True)
class Row:
    """A decision in a table, and the reason of an exclusion."""

    decision: Decision
    reason: str | None = None


@dataclass(frozen=True)
class ImportedTable:
    """The result of importing one person's table."""

    person: str
    stage: HumanStage
    rows: int
    by_title: int  # rows whose record was found by the table's own title
    unmatched: int  # rows whose title no record has
    ambiguous: int  # rows whose title several records have
    by_place: int  # rows whose record was found through `review_rows.py`
    left: tuple[str, ...]  # rows without a record
    conflicts: int  # records in conflict afterwards


class Importer:
    """Imports tables into a batch. `record_of_row`: id and title of the record of each row."""

    def __init__(self, batch: Batch, record_of_row: Mapping[str, tuple[str, str]], folder: Path) -> None:
        self._batch, self._record_of_row, self._folder = batch, record_of_row, folder

    def bring(
        self, person: str, rows: Sequence[Row], stage: HumanStage = HumanStage.OWN, *, settles: bool = False
    ) -> ImportedTable:
        """Import a person's decisions, and return the result. Rows without a record are skipped and listed."""
        first = self._table(f"{person}-{stage.value}", [("", one.decision.title, one) for one in rows])
        said = import_decisions(self._batch, first, reviewer=person, stage=stage, settles=settles)
        again = [rows[int(one.place.removeprefix("line ")) - 2] for one in (*said.unmatched, *said.ambiguous)]
        known = [
            (*self._record_of_row[one.decision.row], one) for one in again if one.decision.row in self._record_of_row
        ]
        left = [one for one in again if one.decision.row not in self._record_of_row]
        conflicts, found = said.conflicts, 0
        if known:
            second = self._table(f"{person}-{stage.value}-by-id", known)
            named = import_decisions(self._batch, second, reviewer=person, stage=stage, settles=settles)
            conflicts, found = named.conflicts, sum(named.found_by.values())
            left += [known[int(one.place.removeprefix("line ")) - 2][2] for one in (*named.unmatched, *named.ambiguous)]
        return ImportedTable(
            person=person,
            stage=stage,
            rows=len(rows),
            by_title=sum(said.found_by.values()),
            unmatched=len(said.unmatched),
            ambiguous=len(said.ambiguous),
            by_place=found,
            left=tuple(one.decision.row or one.decision.title for one in left),
            conflicts=conflicts,
        )

    def _table(self, name: str, rows: Sequence[tuple[str, str, Row]]) -> Path:
        path = self._folder / f"{name}.csv"
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(COLUMNS)
            writer.writerows((own_id, title, one.decision.says, one.reason or "") for own_id, title, one in rows)
        return path
