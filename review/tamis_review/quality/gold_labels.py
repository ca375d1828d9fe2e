"""The reader of a human's labels: a file with the id of each record, and whether the human included the record."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis_producer.files.decode import MAX_FILE_BYTES, read_decoded
from tamis_schemas import InputError, resolve_item_id

from ..intake.cell_rows import rows_of_table
from ..intake.columns import Columns, canonical_name
from ..intake.labels import included_by, label_column
from ..intake.reading import read_records
from ..intake.recognise import Format, recognise
from ..intake.record import LINE

# Label columns to look for by default.
USUAL = ("label", "include", "included", "human_decision", "decision")
IDS = ("id", "pmid", "nct_id")
SEED, INDEX = "seed", "index"
PILOT = frozenset((SEED, INDEX))  # columns of a file from `tamis pilot`


@dataclass(frozen=True, slots=True)
class GoldLabel:
    """A human's label of one record."""

    item_id: str
    included: bool | None  # None: the cell is empty
    line: int | None = None  # in the file
    index: int | None = None  # the record's place in the batch, if the file is from `tamis pilot`


@dataclass(frozen=True)
class GoldLabels:
    """The labels of a file, in the file's order."""

    labels: tuple[GoldLabel, ...]
    path: Path | None = None
    column: str | None = None
    seed: int | None = None  # of the random draw, if the file is from `tamis pilot`

    @classmethod
    def of(cls, labels: Mapping[str, bool]) -> "GoldLabels":
        """Return the labels that a program gives as a mapping. `labels`: item id -> True for included."""
        return cls(tuple(GoldLabel(item_id, included) for item_id, included in labels.items()))


Labels = Path | str | Mapping[str, bool] | GoldLabels  # a file; by item id, True for included; or labels already read


def labels_of(labels: Labels, column: str | None = None, *, max_bytes: int = MAX_FILE_BYTES) -> GoldLabels:
    """Return labels of any form as `GoldLabels`. A file is read by `read_labels`, with `column` and `max_bytes`."""
    if isinstance(labels, Mapping):
        return GoldLabels.of(labels)
    return labels if isinstance(labels, GoldLabels) else read_labels(labels, column, max_bytes=max_bytes)


def read_labels(path: Path | str, column: str | None = None, *, max_bytes: int = MAX_FILE_BYTES) -> GoldLabels:
    """Return the labels of a file: the screened file with a label column, or a table of ids and labels.

    Args:
        path: a file that `read_file` can read, or a CSV or TSV file with neither a title column nor an abstract column.
            Such a table needs a column `id`, `pmid`, `nct_id`, or a name that exports of databases use for these.
        column: the column of the labels. Its cells are 1, true, yes or include; 0, false, no or exclude; or empty for
            unlabelled records. None: the only column whose name is in `USUAL`.
        max_bytes: the largest file to read.

    Raises:
        InputError: the file is unreadable, has no label column or several, or has an invalid label. The message names
            file, line and field.
    """
    path = Path(path)
    bare = _bare(path, max_bytes)
    records = read_records(path, max_bytes=max_bytes) if bare is None else bare
    if column is None:
        names = {name for record in records for name in record}
        usual = [name for name in USUAL if names & {name, f"_{name}"}]
        if len(usual) > 1:
            raise InputError(
                f"several columns could hold the labels: {', '.join(usual)}; choose one with --label-column", path=path
            )
        column = usual[0] if usual else USUAL[0]
    key = label_column(column, records, path)
    of_pilot = bare is not None and all(record.keys() >= PILOT for record in bare)
    labels = (
        GoldLabel(
            resolve_item_id(record),
            included_by(record, key, path),
            record.get(LINE),
            _number(record, INDEX, path) if of_pilot else None,
        )
        for record in records
    )
    seeds = {_number(record, SEED, path) for record in records} if of_pilot else set()
    if len(seeds) > 1:
        raise InputError(f"rows of several pilots: every row must have the same {SEED!r}", path=path, field=SEED)
    return GoldLabels(tuple(labels), path, column, min(seeds, default=None))


def _number(record: Mapping[str, Any], field: str, path: Path) -> int:
    try:
        return int(record[field])
    except ValueError as error:
        raise InputError(
            f"{record[field]!r} is not a whole number", path=path, line=record.get(LINE), field=field
        ) from error


def _bare(path: Path, max_bytes: int) -> list[dict[str, Any]] | None:
    """Return the rows of a file of `tamis pilot` or of a file with only ids and labels, or None for any other file."""
    text = read_decoded(path, max_bytes=max_bytes).text
    if recognise(text) not in {Format.DELIMITED, None}:
        return None
    rows = rows_of_table(text, path, len)
    names = [name.strip() for name in next(rows).cells]
    id_of = {at: name_of for at, name in enumerate(names) if (name_of := canonical_name(name)) in IDS}
    if not id_of or (Columns(names).has_content and not {name.casefold() for name in names} >= PILOT):
        return None
    keys = [id_of.get(at, name.casefold()) for at, name in enumerate(names)]
    return [{LINE: row.line, **dict(zip(keys, map(str.strip, row.cells), strict=True))} for row in rows]
