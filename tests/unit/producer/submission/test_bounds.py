"""What is too large is refused before anything is written: with item, field, size, limit and the setting's name."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tamis_producer.config.settings import ProducerSettings
from tamis_producer.submission.bounds import LONGEST_ID, SubmissionBounds
from tamis_producer.submission.new_batch import parameters, rows_of
from tamis_schemas import ExtractFields, Filter, InvalidParameters


def bounds(**changes: int) -> SubmissionBounds:
    return SubmissionBounds.of(ProducerSettings(**changes))  # type: ignore[arg-type]  # of whole numbers alone


def refused(items: Any, **changes: int) -> str:
    with pytest.raises(InvalidParameters) as refusal:
        rows_of(items, bounds=bounds(**changes))
    return str(refusal.value)


def nested(depth: int) -> Any:
    value: Any = "x"
    for n in range(depth):
        value = [value] if n % 2 else {"in": value}
    return value


def test_bounds_are_the_settings_and_the_usual_ones_their_defaults() -> None:
    assert bounds() == SubmissionBounds.usual()
    assert bounds(max_items=7).max_items == 7


def test_a_batch_of_as_many_items_as_allowed_is_taken_and_one_more_is_not() -> None:
    assert len(rows_of([{"a": 1}] * 5, bounds=bounds(max_items=5))) == 5
    assert "more than 5, the maximum for a batch (TAMIS_MAX_ITEMS)" in refused([{"a": 1}] * 6, max_items=5)


def test_items_without_end_are_refused_without_waiting_for_their_end() -> None:
    taken = 0

    def endless() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for taken in count(1):
            yield {"n": taken}

    assert "TAMIS_MAX_ITEMS" in refused(endless(), max_items=10)
    assert taken == 11


@pytest.mark.parametrize("character", ["x", "é", "漢", "😀"])
def test_bytes_of_an_item_are_counted_as_utf_8(character: str) -> None:
    # {"id":"7","t":"..."} is 17 bytes around the text
    fits = (1000 - 17) // len(character.encode())
    rows_of([{"id": "7", "t": character * fits}], bounds=bounds(max_item_bytes=1000))
    message = refused([{"id": "7", "t": character * (fits + 1)}], max_item_bytes=1000)
    assert message.startswith("No. 1 (index 0) (id '7'): field 't': the item has 1,00")
    assert "the maximum is 1,000 (TAMIS_MAX_ITEM_BYTES)" in message


def test_the_largest_field_is_named() -> None:
    assert "field 'big'" in refused([{"a": "x" * 300, "big": "x" * 900, "c": "x"}], max_item_bytes=1000)


def test_depth_counts_values_inside_values() -> None:
    rows_of([{"f": nested(20)}], bounds=bounds())
    message = refused([{"id": "7"}, {"id": "8", "f": nested(21)}])
    assert message.startswith("No. 2 (index 1) (id '8'): field 'f': nested more than 20 deep (TAMIS_MAX_ITEM_DEPTH)")
    assert "TAMIS_MAX_ITEM_DEPTH" in refused([{"f": nested(100_000)}])


def test_what_holds_itself_is_refused() -> None:
    one: list[Any] = []
    one += [one, one]
    assert "it contains itself" in refused([{"f": one}])


def test_one_part_a_million_times_is_refused_before_it_is_written_out() -> None:
    value: Any = "x"
    for _ in range(12):
        value = [value] * 10  # 10^12 texts once written out
    assert "TAMIS_MAX_ITEM_BYTES" in refused([{"f": value}])
    assert "TAMIS_MAX_ITEM_BYTES" in refused([{"id": value}])  # whose text would be as long


def test_a_long_id_is_refused_and_not_repeated_in_the_message() -> None:
    rows_of([{"id": "i" * LONGEST_ID}], bounds=bounds())
    message = refused([{"id": "i" * (LONGEST_ID + 1)}])
    assert "i" * 81 not in refused([{"id": "i" * LONGEST_ID, "f": nested(21)}])
    assert message == "No. 1 (index 0): its id has 1,001 characters; the maximum is 1,000"


def test_parameters_are_bounded_and_the_largest_is_named() -> None:
    with pytest.raises(
        InvalidParameters, match=r"criteria: the parameters have 2,\d\d\d bytes .* maximum is 2,000 .*TAMIS_MAX_PARAM"
    ):
        parameters(Filter(criteria="x" * 2000), bounds=bounds(max_parameter_bytes=2000))
    assert parameters(Filter(criteria="x" * 1500), bounds=bounds(max_parameter_bytes=2000))["operation"] == "filter"


def extraction(schema: dict[str, Any]) -> ExtractFields:
    return ExtractFields(schema=schema, instructions="Take them.")


def test_depth_and_properties_of_a_schema_are_bounded_references_written_out() -> None:
    pair = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {"left": {"$ref": "#/$defs/pair"}, "right": {"$ref": "#/$defs/pair"}},
        "$defs": {"pair": pair},
    }  # left, right, and a, b in each: 6 properties, 2 deep
    parameters(extraction(schema), bounds=bounds(max_schema_depth=2, max_schema_properties=6))
    with pytest.raises(InvalidParameters, match=r"2 deep; the maximum is 1 \(TAMIS_MAX_SCHEMA_DEPTH\)"):
        parameters(extraction(schema), bounds=bounds(max_schema_depth=1))
    with pytest.raises(InvalidParameters, match=r"6 properties; the maximum is 5 \(TAMIS_MAX_SCHEMA_PROPERTIES\)"):
        parameters(extraction(schema), bounds=bounds(max_schema_properties=5))
