"""Files of rows: JSON lines, compressed, or Parquet; one for each table of an archive."""

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from sqlalchemy import Boolean, Column, Float, Integer

from tamis_schemas.extras import needs

from .rows import PORTION, Row


class ArchiveFormat(StrEnum):
    """The format of an archive's rows."""

    JSONL = "jsonl"
    PARQUET = "parquet"

    @property
    def suffix(self) -> str:
        return ".jsonl.gz" if self is ArchiveFormat.JSONL else ".parquet"


def check(form: ArchiveFormat) -> None:
    """Return where files of this form can be written here. Raises `ConfigurationError` naming the missing extra."""
    if form is ArchiveFormat.PARQUET:
        _parquet()


def write_file(path: Path, form: ArchiveFormat, columns: Sequence[Column[Any]], rows: Iterable[Row]) -> None:
    """Write all rows. Raises `OSError`."""
    if form is ArchiveFormat.PARQUET:
        _write_parquet(path, columns, rows)
        return
    names = [column.name for column in columns]
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=6, newline="\n") as stream:
        for row in rows:
            json.dump(dict(zip(names, row, strict=True)), stream, ensure_ascii=False)
            stream.write("\n")


def read_file(path: Path, form: ArchiveFormat, columns: Sequence[str]) -> Iterator[Row]:
    """The rows of a file, in its order. Raises `OSError`, and `ValueError` where it is no such file."""
    if form is ArchiveFormat.PARQUET:
        yield from _read_parquet(path, columns)
        return
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        for line in stream:
            row = json.loads(line)
            yield tuple(row[name] for name in columns)


def _write_parquet(path: Path, columns: Sequence[Column[Any]], rows: Iterable[Row]) -> None:
    arrow, parquet = _parquet()
    schema = arrow.schema([(column.name, _arrow_type(arrow, column)) for column in columns])
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        remaining = iter(rows)
        while portion := list(islice(remaining, PORTION)):
            values = [list(column) for column in zip(*portion, strict=True)]
            arrays = [
                arrow.array(column_values, kind) for column_values, kind in zip(values, schema.types, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def _read_parquet(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    _, parquet = _parquet()
    with parquet.ParquetFile(path) as file:
        for portion in file.iter_batches(PORTION, columns=list(columns)):
            yield from zip(*(portion.column(name).to_pylist() for name in columns), strict=True)


def _arrow_type(arrow: ModuleType, column: Column[Any]) -> Any:
    match column.type:
        case Boolean():
            return arrow.bool_()
        case Integer():
            return arrow.int64()
        case Float():
            return arrow.float64()
        case _:
            return arrow.string()


def _parquet() -> tuple[ModuleType, ModuleType]:
    with needs("parquet"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow, pyarrow.parquet
