"""Results as a file: CSV for people and spreadsheets, or JSONL with all fields."""

import io
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO, TextIO

from tamis_schemas import InputError, ItemResult
from tamis_schemas.operations import OperationKind
from tamis_schemas.values.printable import STANDARD_OUTPUT, for_data

from .formula_guard import GuardedTable
from .result_columns import RESULT_COLUMNS, ResultColumn, columns_of

COLUMNS = tuple(column.name for column in RESULT_COLUMNS)


def write_csv(results: Iterable[ItemResult], stream: TextIO, operation: OperationKind | None = None) -> int:
    """Write one row for each item, with `COLUMNS` and the columns of the operation's panel; return the number of rows.

    Several deciding criteria are separated by ` | `.
    """
    rows = 0
    for rows, line in enumerate(csv_lines(results, operation)):  # noqa: B007 - the last number is returned
        stream.write(line)
    return rows


def csv_lines(results: Iterable[ItemResult], operation: OperationKind | None = None) -> Iterator[str]:
    """Yield the line with the column names, then each row's line as soon as its result is read."""
    buffer = io.StringIO()
    table = GuardedTable(buffer)
    columns = columns_of(operation)
    table.write(column.name for column in columns)
    yield buffer.getvalue()
    for result in results:
        buffer.seek(0)
        buffer.truncate()
        table.write(_cell(column, result) for column in columns)
        yield buffer.getvalue()


def write_jsonl(results: Iterable[ItemResult], stream: TextIO) -> int:
    """Write one JSON object for each item, with the item's fields; return the number of objects."""
    rows = 0
    for rows, result in enumerate(results, 1):  # noqa: B007 - the last number is returned
        stream.write(result.model_dump_json() + "\n")
    return rows


@contextmanager
def replacing(path: Path | str) -> Iterator[TextIO]:
    """Yield a stream whose text replaces the file at `path` when all of it is written.

    `-` is standard output. Raises `InputError` if the file cannot be written.
    """
    if Path(path) == STANDARD_OUTPUT:
        yield for_data(sys.stdout)
        return
    with replacing_bytes(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as stream:
        yield stream


@contextmanager
def replacing_bytes(path: Path | str) -> Iterator[BinaryIO]:
    """Yield a byte stream whose content replaces the file at `path` when all of it is written.

    `-` is standard output. Raises `InputError` if the file cannot be written.
    """
    path = Path(path)
    if path == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        return
    try:
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=path) from error
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        umask = os.umask(0)
        os.umask(umask)
        Path(draft).chmod(0o666 & ~umask)
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)


def _cell(column: ResultColumn, row: ItemResult) -> object:
    """Return the content of a cell: empty for None and for a False flag, JSON for extracted fields."""
    match column.value(row):
        case None:
            return ""
        case bool() as flag if column.kind is bool:
            return "true" if flag else ""
        case bool() as answer:
            return str(answer).lower()
        case Decimal() as amount:
            text = f"{amount:f}"  # without exponent and trailing zeros, for spreadsheets
            return text.rstrip("0").rstrip(".") if "." in text else text
        case dict() as fields:
            return json.dumps(fields, ensure_ascii=False)
        case value:
            return value
