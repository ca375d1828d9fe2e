"""A JSON object read member by member is what `json` reads at once."""

import io
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tamis_producer.gateway import submission_body
from tamis_producer.gateway.submission_body import members
from tamis_schemas import InvalidParameters

LONGEST = 1_000
TEXT = st.text(max_size=20)
NUMBERS = st.integers() | st.floats(allow_nan=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXT.filter(lambda name: name != "items"), VALUES, max_size=3)


def read(body: bytes, longest: int = 1_000_000) -> dict[str, Any]:
    """The object, put together from its members."""
    found: dict[str, Any] = {}
    for member in members(io.BytesIO(body), streamed="items", longest=longest):
        if member.number is None:
            found[member.name] = [] if member.name == "items" and member.value is None else member.value
        else:
            assert member.number == len(found["items"])
            found["items"].append(member.value)
    return found


@settings(max_examples=40)
@given(OBJECTS, st.lists(VALUES, max_size=4), OBJECTS, st.sampled_from([None, 1]), st.booleans(), st.integers(1, 40))
@example({"a": 12345678901234567890123}, [], {}, None, True, 3)
def test_whatever_stands_before_and_behind_the_items(
    before: dict[str, Any], items: list[Any], behind: dict[str, Any], indent: int | None, ascii_only: bool, window: int
) -> None:
    whole = before | {"items": items} | behind
    body = json.dumps(whole, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(submission_body, "WINDOW", window)  # so that every value is cut somewhere
        assert read(body) == json.loads(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"n": [1e400, -0, -0.0, 0.1, 1E5, 123456789012345678901234567890]}',
        b'{"n": NaN, "m": -Infinity}',
        b'{"a": 1, "a": 2}',
        b'{"items": [{"a": 1, "a": 2}]}',
        rb'{"items": ["\ud800", "\u0000", "\ud83c\udfc3"]}',
        b'\xef\xbb\xbf{"items": []}',
        b' \r\n\t{ "items" : [ 1 , 2 ] , "b" : { } } \n',
        b"{}",
    ],
)
def test_numbers_doubled_names_and_escapes_are_what_json_makes_of_them(body: bytes) -> None:
    assert repr(read(body)) == repr(json.loads(body))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "the body is not JSON: Expecting value (char 0)"),
        (b"[1]", "the body: Input should be a JSON object"),
        (b"{1: 2}", "the body is not JSON: Expecting property name enclosed in double quotes (char 1)"),
        (b'{"a" 1}', "the body is not JSON: Expecting ':' delimiter (char 5)"),
        (b'{"a": 1', "the body is not JSON: Expecting ',' delimiter (char 7)"),
        (b'{"a": 1} x', "the body is not JSON: Extra data (char 9)"),
        (b'{"items": [{"a": 1}, {"a": }]}', "items.1 is not JSON: Expecting value (char 27)"),
        (b'{"items": [{"a": 1} {"a": 2}]}', "items.0 is not JSON: Expecting ',' delimiter (char 20)"),
        (b'{"items": [{"a": 1},', "items.1 is not JSON: Expecting value (char 20)"),
        (b'{"items": [{"a": "' + b"x" * 70_000 + b'"}]}', "items.0 is longer than 1,000 characters"),
        (b'{"items": [' + b"[" * 900_000 + b"]}", "items.0 is "),
        (b'{"a": "\xff"}', "the body is not JSON: invalid start byte"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "the body is longer than 1,000 characters, or not JSON: Exceeds the limit"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(body: bytes, told: str) -> None:
    with pytest.raises(InvalidParameters) as raised:
        read(body, LONGEST)
    assert str(raised.value).startswith(told)


def test_of_many_items_few_are_in_memory() -> None:
    item = json.dumps({"id": "1", "abstract": "x" * 1_000}).encode()
    body = io.BytesIO(b'{"items": [' + b",".join([item] * 10_000) + b"]}")
    tracemalloc.start()
    try:
        assert sum(1 for _ in members(body, streamed="items", longest=10_000)) == 10_001
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2_000_000
