"""What an item may hold under `chunks` and `retrieval`."""

from typing import Any

import pytest

from tamis_producer.submission.new_batch import rows_of
from tamis_schemas import (
    Chunk,
    Extract,
    ExtractFields,
    Filter,
    InvalidParameters,
    Operation,
    Retrieved,
)

EXTRACT = Extract(instruction="What is it?")
FIELDS = ExtractFields(schema={"type": "object", "properties": {"a": {"type": "string"}}}, instructions="x")


@pytest.mark.spec("4.5")
def test_a_chunk_goes_by_id_or_chunk_id_and_keeps_its_zeros() -> None:
    found = Retrieved.of({"chunks": [{"chunk_id": 0, "text": "a", "score": 0, "page": 0, "column": 2}, {"text": "b"}]})
    assert found is not None
    first, second = found.chunks
    assert (first.id, first.score, first.page, first.retrieval_method) == ("0", 0.0, 0, None)
    assert second == Chunk(text="b")


@pytest.mark.parametrize("item", [{}, {"chunks": None}, {"chunks": []}, {"retrieval": {"bm25_limit": 5}}])
def test_without_a_chunk_there_is_nothing_retrieved(item: dict[str, Any]) -> None:
    assert Retrieved.of(item) is None


def test_a_chunk_that_two_methods_found_is_numbered_once() -> None:
    twice = [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}, {"id": "a", "text": "x"}, {"text": "z"}, {"text": "z"}]
    found = Retrieved.of({"chunks": twice})
    assert found is not None
    assert [chunk.text for chunk in found.numbered] == ["x", "y", "z", "z"]
    assert len(found.chunks) == 5


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"chunks": "three"}, "chunks: a str, not a list of chunks"),
    ({"chunks": {"text": "x"}}, "chunks: a dict, not a list"),
    ({"chunks": ["x"]}, "chunks.0: "),
    ({"chunks": [{"text": "x"}, {"id": 2}]}, "chunks.1.text: missing or blank"),
    ({"chunks": [{"text": " \n"}]}, "chunks.0.text: missing or blank"),
    ({"chunks": [{"text": 3}]}, "chunks.0.text: "),
    ({"chunks": [{"text": "x", "score": "high"}]}, "chunks.0.score: "),
    ({"chunks": [{"text": "x", "score": True}]}, "chunks.0.score: "),
    ({"chunks": [{"text": "x", "page": [1]}]}, "chunks.0.page."),
    ({"chunks": [{"text": "x", "retrieval_method": 1}]}, "chunks.0.retrieval_method: "),
    ({"chunks": [{"text": "x"}], "retrieval": {"bm25_limit": 0}}, "retrieval.bm25_limit: "),
    ({"chunks": [{"text": "x"}], "retrieval": {"limit": 5}}, "retrieval.limit: "),
    ({"chunks": [{"text": "x"}], "retrieval": [5]}, "retrieval: "),
    ({"chunks": [{"text": "x"}] * 1001}, "chunks: "),
    (
        {"chunks": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]},
        "chunks.1: has the same id as chunks.0 ('a') but another text",
    ),
]


@pytest.mark.spec("4.5")
@pytest.mark.parametrize(("item", "place"), WRONG)
@pytest.mark.parametrize("operation", [EXTRACT, FIELDS], ids=lambda operation: operation.operation)
def test_what_is_no_chunk_is_refused_when_it_is_submitted_naming_item_and_place(
    operation: Operation, item: dict[str, Any], place: str
) -> None:
    with pytest.raises(InvalidParameters) as caught:
        rows_of([{"id": "1", "title": "fine"}, {"id": "rec-7", **item}], operations=[operation])
    assert str(caught.value).startswith(f"No. 2 (index 1) (id 'rec-7'): {place}")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("item", "place"), WRONG)
def test_operations_that_do_not_extract_take_any_field_of_that_name(item: dict[str, Any], place: str) -> None:
    assert len(rows_of([item], operations=[Filter(criteria="Is it?")])) == len(rows_of([item])) == 1


def test_the_rows_of_items_with_chunks_are_what_was_given() -> None:
    item = {"id": "1", "chunks": [{"text": "x", "score": 0}]}
    (row,) = rows_of([item], operations=[EXTRACT])
    assert row.payload == '{"id":"1","chunks":[{"text":"x","score":0}]}'
