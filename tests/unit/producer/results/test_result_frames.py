"""Results as frames and as Parquet: one table in every library, of real types, in constant memory."""

import io
import math
from collections.abc import Iterator
from decimal import Decimal
from importlib import util
from typing import TYPE_CHECKING, Any

import pytest

from tamis_producer.results import result_frames
from tamis_producer.results.result_frames import ROW_GROUP, frame_of, write_parquet
from tamis_producer.results.results_file import COLUMNS
from tamis_schemas import (
    Answer,
    ConfigurationError,
    ErrorKind,
    EvaluationResult,
    Extract,
    ExtractFields,
    FieldsResult,
    Filter,
    Inclusion,
    InclusionDecision,
    InvalidParameters,
    ItemResult,
    Judge,
    Operation,
    Override,
    Provenance,
    Score,
    Usage,
)
from tamis_schemas.operations import OPERATIONS, parse_operation
from tamis_schemas.operations.kind import operation_name

if TYPE_CHECKING:
    import pyarrow as pa  # the libraries take half a second: not for whoever only collects

FILTER = Filter(criteria="Is it about walking?")
INTEGERS, NUMBERS, FLAGS = (
    {"index", "number", "prompt_tokens", "completion_tokens", "relevance"},
    {"confidence", "cost", "disagreement", "probability"},
    {"flagged", "overridden", "conflict"},
)
BILLED = Provenance(model="m", usage=Usage(10, 2), cost=Decimal("0.000045"), calls=1)
OVERRIDE = Override(
    batch_id="b",
    index=1,
    item_id="b",
    value=False,
    reviewer="Reviewer A",
    note="read it",
    created_at="2026-01-02T03:04:05Z",
)
ROWS = [
    ItemResult(
        index=0,
        item_id="a",
        status="decided",
        result=EvaluationResult(value=True, confidence=0.9, reasoning="=because"),
        provenance=BILLED,
        item={"title": "Walking"},
    ),
    ItemResult(
        index=1,
        item_id="b",
        status="failed",
        result=EvaluationResult(error="took too long"),
        error_kind=ErrorKind.TIMEOUT,
        provenance=Provenance(calls=1),
        override=OVERRIDE,
        decisions=(OVERRIDE,),
        item={"title": ["Swimming", 2]},
    ),
    ItemResult(index=2, item_id="c", status="pending"),
]
FIRST = {
    "index": 0,
    "item_id": "a",
    "status": "decided",
    "value": True,
    "confidence": 0.9,
    "reasoning": "=because",
    "model": "m",
    "prompt_tokens": 10,
    "completion_tokens": 2,
    "cost": 0.000045,
    "final_value": True,
    "overridden": False,
    "conflict": False,
    "title": "Walking",
}
SECOND = {
    "index": 1,
    "item_id": "b",
    "status": "failed",
    "error_kind": "timeout",
    "error": "took too long",
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "final_value": False,
    "overridden": True,
    "reviewer": "Reviewer A",
    "note": "read it",
    "conflict": False,
    "decisions": "Reviewer A: false",
    "title": '["Swimming", 2]',
}
THIRD = {"index": 2, "item_id": "c", "status": "pending", "overridden": False, "conflict": False}
TOLD = [
    {name: row.get(name) for name in COLUMNS} | {"number": number}
    for number, row in enumerate((FIRST, SECOND, THIRD), 1)
]


def from_parquet(rows: list[ItemResult], operation: Operation) -> "pa.Table":
    import pyarrow as pa
    from pyarrow import parquet

    stream = io.BytesIO()
    assert write_parquet(rows, operation, stream) == len(rows)
    return parquet.read_table(pa.BufferReader(stream.getvalue()))


def test_polars_arrow_and_parquet_hold_the_same_rows_with_none_where_a_value_is_missing() -> None:
    assert frame_of(ROWS, FILTER, "polars").to_dicts() == TOLD
    assert frame_of(ROWS, FILTER, "arrow").to_pylist() == TOLD
    assert from_parquet(ROWS, FILTER).to_pylist() == TOLD


def test_pandas_holds_the_same_rows_with_its_own_missing_values() -> None:
    frame = frame_of(ROWS, FILTER, "pandas")
    assert list(frame.columns) == list(COLUMNS)
    missing = frame.isna()
    for row, told in enumerate(TOLD):
        for name, value in told.items():
            assert missing.loc[row, name] == (value is None), (row, name)
            assert value is None or frame.loc[row, name] == value, (row, name)
    assert list(frame[frame["value"]]["item_id"]) == ["a"]  # what is missing is not chosen, and no error
    assert math.isclose(frame["cost"].sum(), 0.000045)


def test_every_column_has_one_type_whatever_is_missing_and_with_no_row_at_all() -> None:
    for rows in (ROWS, ROWS[2:], []):
        arrow = frame_of(rows, FILTER, "arrow").schema
        assert arrow == from_parquet(rows, FILTER).schema
        named = {name: str(arrow.field(name).type) for name in COLUMNS}
        assert {name for name, kind in named.items() if kind == "int64"} == INTEGERS
        assert {name for name, kind in named.items() if kind == "double"} == NUMBERS
        assert {name for name, kind in named.items() if kind == "bool"} == {*FLAGS, "value", "final_value"}
        assert set(named.values()) == {"int64", "double", "bool", "string"}
        assert frame_of(rows, FILTER, "polars").to_arrow().schema.names == list(COLUMNS)
        pandas = {name: str(kind) for name, kind in frame_of(rows, FILTER, "pandas").dtypes.items()}
        assert {pandas[name] for name in INTEGERS} == {"Int64"}
        assert {pandas[name] for name in NUMBERS} == {"float64"}
        assert {pandas[name] for name in FLAGS} == {"boolean"}
        assert pandas["title"] == "string"


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("operation", "value", "kind", "cell"),
    [
        (FILTER, False, "Boolean", False),
        (Score(criteria="How well?", max_value=10), 7.0, "Float64", 7.0),
        (Extract(instruction="n", output_type="number"), 12, "Float64", 12.0),
        (Extract(instruction="n", output_type="boolean"), True, "Boolean", True),
        (Extract(instruction="n"), "knee", "String", "knee"),
        (Extract(instruction="n", output_type="enum", enum_values=["a", "b"]), "b", "String", "b"),
        (
            Inclusion(criteria={"research_question": "q", "inclusion_criteria": ["i"]}),
            "uncertain",
            "String",
            "uncertain",
        ),
        (Judge(guidelines="words"), "direct", "String", "direct"),
        (Answer(instruct="i", resp_format="r", eval_crit="e"), "So it is.", "String", "So it is."),
        (ExtractFields(schema=SCHEMA, instructions="n"), {"n": 3, "ä": None}, "String", '{"n": 3, "ä": null}'),
    ],
)
def test_a_value_has_the_type_of_its_operation(operation: Operation, value: Any, kind: str, cell: object) -> None:
    import polars as pl

    result = FieldsResult(fields=value) if isinstance(value, dict) else EvaluationResult(value=value)
    frame = frame_of([ItemResult(index=0, item_id="a", status="decided", result=result)], operation, "polars")
    assert frame.schema["value"] == frame.schema["final_value"] == getattr(pl, kind)
    assert frame["value"].to_list() == frame["final_value"].to_list() == [cell]


def test_every_operation_says_the_type_of_its_values() -> None:
    for kind in OPERATIONS:
        operation = parse_operation({"operation": operation_name(kind), **kind.example}) if kind.example else None
        if operation is not None:
            assert operation.value_type() in {bool, float, str, dict}


def test_an_inclusion_is_flagged_or_not_and_anything_else_neither() -> None:
    decision = InclusionDecision(
        status="uncertain", confidence=0.5, rationale="r", uncertain_reason="no verified quote"
    )
    rows = [
        ROWS[0].model_copy(update={"decision": decision.model_copy(update={"flagged": flag})}) for flag in (True, False)
    ]
    frame = frame_of([*rows, ROWS[0]], FILTER, "polars")
    assert frame["flagged"].to_list() == [True, False, None]
    assert frame["uncertain_reason"].to_list() == ["no verified quote", "no verified quote", None]


def test_without_a_name_it_is_the_first_library_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    installed = {"pandas", "polars", "pyarrow"}
    monkeypatch.setattr(result_frames, "find_spec", lambda name: util.find_spec(name) if name in installed else None)
    assert isinstance(frame_of(ROWS, FILTER), pd.DataFrame)
    installed.remove("pandas")
    assert isinstance(frame_of(ROWS, FILTER), pl.DataFrame)
    with pytest.raises(ConfigurationError, match="a frame of pandas needs the package 'pandas'"):
        frame_of(ROWS, FILTER, "pandas")
    installed.remove("polars")
    assert isinstance(frame_of(ROWS, FILTER), pa.Table)
    installed.remove("pyarrow")
    with pytest.raises(ConfigurationError, match="pip install pandas, polars or pyarrow"):
        frame_of(ROWS, FILTER)


def test_an_unknown_library_is_named_before_anything_is_read() -> None:
    def never() -> Iterator[ItemResult]:
        raise AssertionError("a result was read")
        yield

    with pytest.raises(InvalidParameters, match="'dask' is none of pandas, polars, arrow"):
        frame_of(never(), FILTER, "dask")  # type: ignore[arg-type]


def test_parquet_is_written_a_row_group_at_a_time() -> None:
    import pyarrow as pa
    from pyarrow import parquet

    stream = io.BytesIO()
    written = []

    def results() -> Iterator[ItemResult]:
        for index in range(2 * ROW_GROUP + 1):
            if index % ROW_GROUP == 0:
                written.append(stream.tell())
            yield ROWS[0].model_copy(update={"index": index})

    assert write_parquet(results(), FILTER, stream) == 2 * ROW_GROUP + 1
    assert 0 < written[0] < 10 < written[1] < written[2]  # four bytes say what it is; then groups, as they are full
    file = parquet.ParquetFile(pa.BufferReader(stream.getvalue()))
    assert [file.metadata.row_group(n).num_rows for n in range(3)] == [ROW_GROUP, ROW_GROUP, 1]
    assert file.read()["index"].to_pylist() == list(range(2 * ROW_GROUP + 1))
