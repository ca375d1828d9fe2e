"""Sheets of records that people fill in: a row for each, with what it says, and columns for what they decide.

They show nothing that the model decided: who knows it is led by it. `tamis override --file` reads a sheet of decisions
back, and of a stop rule's sample that was drawn before anything was read `tamis calibrate`, as a pilot's.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from tamis_producer.results.formula_guard import guarded
from tamis_schemas import ItemResult, NextRecords, StopSample
from tamis_schemas.records.item import shown_fields
from tamis_schemas.records.record_number import record_number

RECORD = ("index", "id", "title", "abstract")
DECISION = ("decision", "reviewer", "note")
NUMBER = "number"  # the record's, from 1, beside its index from 0: as people read it elsewhere
UTF_8 = "\ufeff"  # the mark by which spreadsheets know it


def write_sheet(
    stream: TextIO,
    rows: Iterable[ItemResult],
    filled: Mapping[int, Sequence[str]],
    columns: Sequence[str],
    **shared: int | str,
) -> None:
    """Write a row for each record in the order of `filled`.

    Args:
        stream: the file.
        rows: the records, in any order.
        filled: by place in the batch, what stands under the `columns` to be filled in.
        columns: their names.
        shared: the first columns, which say the same in every row.
    """
    by_index = {row.index: row for row in rows}
    stream.write(UTF_8)
    writer = csv.writer(stream)
    writer.writerow([*shared, *RECORD, *columns, NUMBER])
    for place, cells in filled.items():
        row = by_index[place]
        texts = (row.item_id, text_of(row.item.get("title")), content_of(row.item), *cells)
        writer.writerow([*shared.values(), place, *map(guarded, texts), record_number(place)])


def write_reading_sheet(answer: NextRecords, rows: Iterable[ItemResult], stream: TextIO) -> None:
    """Write the records to read next, the first one first; `rows`: those of the records, in any order."""
    cells = ("", answer.reviewer or "", "")
    write_sheet(stream, rows, dict.fromkeys((one.index for one in answer.records), cells), DECISION)


def write_stop_sample(sample: StopSample, rows: Iterable[ItemResult], stream: TextIO) -> None:
    """Write the records without a decision, in the order in which they were drawn; `rows`: theirs, in any order."""
    blank = dict.fromkeys((one.index for one in sample.waiting), ("", "", ""))
    write_sheet(stream, rows, blank, DECISION, seed=sample.seed)


def content_of(item: dict[str, Any]) -> str:
    """The abstract; of an item that is no publication, its fields line by line."""
    if item.get("abstract") or item.get("title"):
        return text_of(item.get("abstract"))
    return "\n".join(f"{name}: {value}" for name, value in shown_fields(item).items())


def text_of(value: object) -> str:
    """A field's text; of none the empty one."""
    return "" if value is None else str(value)
