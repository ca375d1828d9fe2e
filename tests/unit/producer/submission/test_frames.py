"""Data frames as items: the same records from pandas, Polars and Arrow."""

import math
from datetime import date
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tamis_producer.submission.frames import items_of
from tamis_producer.submission.new_batch import rows_of
from tamis_schemas import InvalidParameters

COLUMNS: dict[str, list[Any]] = {
    "id": ["a", "b", None],
    "title": ["Walking at home", None, "Swimming"],
    "year": [2020, None, 2021],
    "score": [0.5, None, 1.0],
    "read": [True, False, True],
    "published": [date(2020, 1, 2), None, date(2021, 3, 4)],
    "authors": [["Alm, K", "Berg, L"], [], None],
}
ROWS = [
    {
        "id": "a",
        "title": "Walking at home",
        "year": 2020,
        "score": 0.5,
        "read": True,
        "published": "2020-01-02",
        "authors": ["Alm, K", "Berg, L"],
    },
    {"id": "b", "title": None, "year": None, "score": None, "read": False, "published": None, "authors": []},
    {
        "id": None,
        "title": "Swimming",
        "year": 2021,
        "score": 1.0,
        "read": True,
        "published": "2021-03-04",
        "authors": None,
    },
]


@pytest.mark.parametrize("frame", [pl.DataFrame(COLUMNS), pa.table(COLUMNS)], ids=["polars", "arrow"])
def test_the_rows_of_a_frame_are_items_with_none_where_a_value_is_missing(frame: Any) -> None:
    assert list(items_of(frame)) == ROWS


def test_a_frame_of_pandas_is_the_same_items_whatever_it_writes_for_missing() -> None:
    frame = pd.DataFrame(COLUMNS).astype({"year": "Int64"})
    frame["published"] = pd.to_datetime(frame["published"])
    read = [dict(row) for row in items_of(frame)]
    days = [row.pop("published") for row in read]
    assert days == ["2020-01-02T00:00:00", None, "2021-03-04T00:00:00"]
    assert read == [{name: value for name, value in row.items() if name != "published"} for row in ROWS]


def test_ids_that_pandas_made_floats_are_whole_numbers_again() -> None:
    frame = pd.DataFrame({"title": ["a"] * 3, "pmid": [31452104, None, 7], "score": [1.0, None, 2.0]})
    assert list(items_of(frame)) == [
        {"title": "a", "pmid": 31452104, "score": 1.0},
        {"title": "a", "pmid": None, "score": None},
        {"title": "a", "pmid": 7, "score": 2.0},
    ]
    assert [item["pmid"] for item in items_of(pd.DataFrame({"pmid": [1.5, 2.0]}))] == [1.5, 2.0]


@pytest.mark.parametrize("missing", [None, math.nan, pd.NaT, pd.NA])
def test_every_missing_value_of_pandas_is_none(missing: object) -> None:
    frame = pd.DataFrame({"id": ["a", "b"], "title": ["a", missing]}, dtype=object)
    assert list(items_of(frame))[1] == {"id": "b", "title": None}


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (pd.DataFrame({"id": [1, 2], "about": ["x", object()]}), "row 1, column about: a object is not a JSON value"),
        (pl.DataFrame({"id": [1], "pdf": [b"%PDF"]}), "row 0, column pdf: a bytes is not a JSON value"),
        (pl.DataFrame({"id": [1]}).lazy(), "a lazy frame has no rows yet"),
        (pl.Series([1, 2]), "a Series is not a data frame"),
        (pd.DataFrame([[1, 2]], columns=["id", "id"]), "is not a data frame with named columns"),
        (pd.DataFrame({"id": []}), "items: there are none"),
        (pd.DataFrame({"id": ["a"], "dose": [math.inf]}), "row 0, column dose: inf is no number"),
        (pd.DataFrame({"id": ["a", None], "title": ["b", None]}), "row 1: all its columns are missing: id, title"),
        (pd.DataFrame({("a", "b"): ["x"]}), "the columns have 2 levels, for example"),
        (pd.DataFrame({"title": ["a"]}, index=["31"]), "the frame's index .'31', .*has no name"),
        (pd.DataFrame({"id": ["a"]}, index=pd.Index(["b"], name="id")), "cannot become a column: .*id"),
    ],
)
def test_what_cannot_be_an_item_is_named_by_row_and_column(frame: Any, told: str) -> None:
    with pytest.raises(InvalidParameters, match=told):
        rows_of(frame)


def test_a_named_index_is_a_column_and_one_of_numbers_without_a_name_is_none() -> None:
    frame = pd.DataFrame({"pmid": [11, 12], "title": ["A trial", "Swimmers"], "year": [2001, 2002]})
    rows = frame.to_dict("records")
    assert list(items_of(frame.set_index(["pmid", "title"]))) == rows
    assert list(items_of(frame.set_index("pmid"))) == rows
    assert list(items_of(frame.set_index("title", append=True))) == [
        {"title": row["title"], "pmid": row["pmid"], "year": row["year"]} for row in rows
    ]
    assert list(items_of(frame[frame["year"] == 2002])) == rows[1:]  # its index is 1


def test_rows_of_nothing_but_numbers_are_noted(caplog: pytest.LogCaptureFixture) -> None:
    frame = pd.DataFrame({"title": ["A trial", None, None], "year": [2001, 2002, 2003]})
    assert len(list(items_of(frame))) == 3
    assert "2 rows of the frame have nothing but numbers" in caplog.text


def test_what_is_no_frame_is_left_as_it_is() -> None:
    items = [{"id": "1"}]
    assert items_of(items) is items
