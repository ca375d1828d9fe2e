"""Data frames of pandas, Polars and Arrow, as items.

Narwhals reads all of these. The missing values None, NaN, NaT and NA all become None in the item.
"""

import logging
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from tamis_schemas import InvalidParameters, Item
from tamis_schemas.extras import needs
from tamis_schemas.records.item import ID_FIELDS

if TYPE_CHECKING:
    import narwhals as nw

log = logging.getLogger(__name__)
T = TypeVar("T")
MISSING = {"NaTType", "NAType"}  # type names in pandas, which need not be installed


class DataFrame(Protocol):
    """A data frame of any library with Arrow's method for columns."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the columns for a reader of Arrow."""


def items_of(items: Iterable[T] | DataFrame) -> Iterable[T | Item]:
    """Return the rows of a frame as items. Items that are not a frame are returned unchanged.

    The named levels of a pandas index become columns. An index of numbers without a name is dropped. If ids are
    missing, pandas turns the other ids into floats. This function turns such floats into whole numbers again. A warning
    counts the rows that have nothing but numbers, because a model finds no text in them.

    Raises:
        InvalidParameters: a value is not JSON (the message has its row, from 0, and column); a row has no value; two
            columns have the same name; columns have several levels of names; the labels of an index without a name are
            not numbers; or the frame is lazy.
        ConfigurationError: Narwhals is not installed.
    """
    if hasattr(items, "collect_schema") and not hasattr(items, "__arrow_c_stream__"):
        raise InvalidParameters("items: a lazy frame has no rows yet; pass the result of its collect()")
    # Arrow's protocol for columns: frames of any library have it, and nothing else with rows does.
    return _rows(items) if hasattr(items, "__arrow_c_stream__") else items


def _rows(frame: Any) -> Iterator[Item]:
    with needs("frames"):
        import narwhals as nw
    try:
        columns = nw.from_native(_with_index(frame), eager_only=True)
    except (TypeError, nw.exceptions.NarwhalsError) as error:
        raise InvalidParameters(
            f"items: a {type(frame).__name__} is not a data frame with named columns: {error}"
        ) from error
    whole = {name for name in ID_FIELDS if name in columns.columns and _holds_whole_numbers(columns[name])}
    numbers = 0
    for number, row in enumerate(columns.iter_rows(named=True)):
        item = {
            str(name): _value(value, f"row {number}, column {name}", as_whole=name in whole)
            for name, value in cast("dict[str, object]", row).items()
        }
        values = [value for value in item.values() if value is not None]
        if not values:
            raise InvalidParameters(f"row {number}: all its columns are missing: {', '.join(item)}")
        numbers += all(isinstance(value, int | float) for value in values)
        yield item
    if numbers:
        log.warning("%s rows of the frame have nothing but numbers: a model finds no text in them", numbers)


def _with_index(frame: Any) -> Any:
    """Return a frame of pandas with its named index as columns, and any other frame unchanged."""
    index = getattr(frame, "index", None)
    if index is None or not hasattr(index, "names"):
        return frame
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise InvalidParameters(
            f"items: the columns have {frame.columns.nlevels} levels, for example {frame.columns[0]}: join the names"
        )
    named = [name for name in index.names if name is not None]
    if not named and len(index) and index.dtype.kind not in "iu":
        raise InvalidParameters(
            f"items: the frame's index ({index[0]!r}, ...) has no name: name it with `rename_axis`, or drop it "
            "with `reset_index(drop=True)`"
        )
    try:
        return frame.reset_index(level=named) if named else frame
    except ValueError as error:
        raise InvalidParameters(f"items: the index cannot become a column: {error}") from error


def _holds_whole_numbers(column: "nw.Series[Any]") -> bool:
    return column.dtype.is_float() and all(
        float(value).is_integer() for value in column.drop_nulls().to_list() if not math.isnan(value)
    )


def _value(value: object, place: str, *, as_whole: bool) -> Any:
    if type(value).__name__ in MISSING or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and math.isinf(value):
        raise InvalidParameters(f"{place}: {value} is no number that JSON can hold")
    if as_whole and isinstance(value, float):
        return int(value)
    from .item_conversion import json_value  # imports SQLAlchemy, which a client must not import early

    tolist = getattr(value, "tolist", None)  # numpy's scalars and arrays, in a column of lists
    return json_value(value if tolist is None else tolist(), place)
