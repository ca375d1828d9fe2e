"""The file of a stop rule's sample: a row for each record that is still to be read, for a human to decide.

It shows nothing that the model decided: who knows it is led by it. `tamis override --file` reads it back, and of a
sample that was drawn before anything was read `tamis calibrate`, as a pilot's.
"""

import csv
from collections.abc import Iterable
from typing import TextIO

from tamis_schemas import ItemResult, StopSample
from tamis_schemas.records.record_number import record_number

from ..intake.formula_guard import guarded
from ..quality.gold_labels import INDEX, SEED
from .audit_file import NUMBER, content_of, text_of

COLUMNS = (SEED, INDEX, "id", "title", "abstract", "decision", "reviewer", "note", NUMBER)


def write_stop_sample(sample: StopSample, rows: Iterable[ItemResult], stream: TextIO) -> None:
    """The records without a decision, in the order in which they were drawn; `rows`: theirs, in any order."""
    by_index = {row.index: row for row in rows}
    writer = csv.writer(stream)
    writer.writerow(COLUMNS)
    for one in sample.waiting:
        item = by_index[one.index].item
        texts = (one.item_id, text_of(item.get("title")), content_of(item), "", "", "")
        writer.writerow((sample.seed, one.index, *map(guarded, texts), record_number(one.index)))
