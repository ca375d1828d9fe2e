"""Results as a data frame of pandas, Polars or Arrow, and as Parquet: a row for each item, a type for each column."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from itertools import islice
from typing import Any, BinaryIO, Literal, get_args

from tamis_schemas import ConfigurationError, InvalidParameters, ItemResult
from tamis_schemas.extras import needs
from tamis_schemas.operations import OperationKind

from .result_columns import columns_of, typed

FrameLibrary = Literal["pandas", "polars", "arrow"]
Columns = Mapping[str, list[Any]]
Types = Mapping[str, type[Any]]  # type of each column: int, float, bool or str

ROW_GROUP = 5_000  # items in a row group, and in memory at once

_MODULES = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}  # the first that is installed is the default


def frame_of(results: Iterable[ItemResult], operation: OperationKind, library: FrameLibrary | None = None) -> Any:
    """Return the results in order as a frame of `library`. None: the first installed of pandas, Polars and Arrow.

    In pandas, integers, booleans and texts are nullable, and missing floats are NaN.

    Raises:
        InvalidParameters: `library` is none of these three.
        ConfigurationError: the library is not installed, or none of the three is.
    """
    make = _maker(library)  # first, so that a missing library fails before anything is read
    types = _types(operation)
    columns: dict[str, list[Any]] = {name: [] for name in types}
    for portion in _portions(results, operation):
        for name, values in portion.items():
            columns[name] += values
    return make(columns, types)


def write_parquet(results: Iterable[ItemResult], operation: OperationKind, stream: BinaryIO) -> int:
    """Write the results as a Parquet table, one row per item, a row group at a time. Return the number of rows.

    Raises `ConfigurationError` if PyArrow is not installed.
    """
    with needs("parquet"):
        from pyarrow import Table, parquet
    schema, rows = _arrow_schema(_types(operation)), 0
    with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        for portion in _portions(results, operation):
            table = Table.from_pydict(portion, schema=schema)
            writer.write_table(table)
            rows += table.num_rows
    return rows


def _types(operation: OperationKind) -> Types:
    return {column.name: column.type_for(operation) for column in columns_of(operation)}


def _portions(results: Iterable[ItemResult], operation: OperationKind) -> Iterator[Columns]:
    """Yield the columns of up to 5,000 results at a time, so that only these results are in memory."""
    remaining, columns, types = iter(results), columns_of(operation), _types(operation)
    while rows := list(islice(remaining, ROW_GROUP)):
        yield {column.name: [typed(column.value(row), types[column.name]) for row in rows] for column in columns}


def _maker(library: str | None) -> Callable[[Columns, Types], Any]:
    if library is None:
        library = next((name for name, module in _MODULES.items() if find_spec(module) is not None), None)
        if library is None:
            raise ConfigurationError("a frame needs a package: pip install pandas, polars or pyarrow")
    if library not in _MODULES:
        raise InvalidParameters(f"library: {library!r} is none of {', '.join(get_args(FrameLibrary))}")
    if find_spec(_MODULES[library]) is None:
        raise ConfigurationError(f"a frame of {library} needs the package {_MODULES[library]!r}: pip install it")
    return {"pandas": _pandas, "polars": _polars, "arrow": _arrow}[library]


def _pandas(columns: Columns, types: Types) -> Any:
    import pandas

    names = {int: "Int64", float: "float64", bool: "boolean", str: "string"}
    return pandas.DataFrame({name: pandas.array(columns[name], dtype=names[kind]) for name, kind in types.items()})


def _polars(columns: Columns, types: Types) -> Any:
    import polars

    names = {int: polars.Int64, float: polars.Float64, bool: polars.Boolean, str: polars.String}
    return polars.DataFrame(columns, schema={name: names[kind] for name, kind in types.items()})


def _arrow(columns: Columns, types: Types) -> Any:
    import pyarrow

    return pyarrow.Table.from_pydict(columns, schema=_arrow_schema(types))


def _arrow_schema(types: Types) -> Any:
    import pyarrow

    names = {int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_(), str: pyarrow.string()}
    return pyarrow.schema([(name, names[kind]) for name, kind in types.items()])
