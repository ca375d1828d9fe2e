"""The file of a calibration: a row for each record of the batch, and whether the threshold keeps it."""

import csv
from typing import TextIO

from tamis_producer.results.formula_guard import guarded
from tamis_schemas.records.record_number import record_number

from ..quality.pilot import Calibrated

COLUMNS = ("index", "id", "decision", "score", "label", "kept", "title", "number")


def write_kept(found: Calibrated, stream: TextIO) -> None:
    """The records in the batch's order, copies of others left out, under `COLUMNS`."""
    writer = csv.writer(stream)
    writer.writerow(COLUMNS)
    for record in found.records:
        writer.writerow(
            (
                record.index,
                guarded(record.item_id),
                record.stand.value if record.rule is None else f"exclude ({record.rule})",
                "" if record.score is None else record.score,
                "" if record.human is None else int(record.human),
                str(found.kept(record)).lower(),
                guarded(record.title),
                record_number(record.index),
            )
        )
