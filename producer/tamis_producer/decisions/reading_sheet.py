"""A sheet of the records to read next: a row for each, in which a human decides. `tamis override --file` reads it back.

It shows neither the model's score nor why a record is next: who knows it is led by it.
"""

import csv
from collections.abc import Iterable
from typing import TextIO

from tamis_schemas import ItemResult, NextRecords
from tamis_schemas.records.record_number import record_number

from ..intake.formula_guard import guarded
from .audit_file import NUMBER, content_of, text_of

COLUMNS = ("index", "id", "title", "abstract", "decision", "reviewer", "note", NUMBER)


def write_sheet(answer: NextRecords, rows: Iterable[ItemResult], stream: TextIO) -> None:
    """The sheet, the record to read first in its first row; `rows`: those of the records, in any order."""
    by_index = {row.index: row for row in rows}
    writer = csv.writer(stream)
    writer.writerow(COLUMNS)
    for record in answer.records:
        item = by_index[record.index].item
        cells = (record.item_id, text_of(item.get("title")), content_of(item), "", answer.reviewer or "", "")
        writer.writerow((record.index, *map(guarded, cells), record_number(record.index)))
