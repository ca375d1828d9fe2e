"""What is kept of a message that nobody understands: bounded, without secrets, and nothing in it is run."""

import base64
import pickle
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_producer.config.redaction import HIDDEN, Redaction
from tamis_schemas.values.unstorable import to_json
from tamis_worker.celery_adapter.foreign_message import (
    BEYOND,
    BODY_MOST,
    HEADERS_MOST,
    NAME_MOST,
    VALUE_MOST,
    dead_letter,
    raw_letter,
)
from tamis_worker.ledger.dead_letters import DeadLetter

SECRET = "sk-a-key-that-nobody-may-see"
REDACT = Redaction([SECRET])


def letter(body: object = b"[]", **parts: Any) -> DeadLetter:
    message = {"headers": {"task": "t", "id": "i"}, "properties": {}, "delivery_info": {"routing_key": "items"}}
    message |= {"content_type": "application/json", "content_encoding": "utf-8", "body": body}
    return dead_letter(SimpleNamespace(**(message | parts)), "it is foreign", REDACT)


def explode() -> None:
    raise AssertionError("a pickle is loaded")


class Explodes:
    def __reduce__(self) -> tuple[object, ...]:
        return (explode, ())


def test_an_ordinary_message_is_kept_whole_under_its_names() -> None:
    headers = {"task": "t", "id": "i", "argsrepr": "('ü',)", "retries": 0, "timelimit": [None, None], "eta": None}
    own = {"correlation_id": "i", "priority": 0, "reply_to": None, "delivery_tag": "7", "body_encoding": "base64"}
    kept = letter('[["ü"], {}, {}]'.encode(), headers=headers, properties=own)
    assert (kept.queue, kept.task, kept.task_id, kept.why) == ("items", "t", "i", "it is foreign")
    assert (kept.body, kept.in_base64, kept.body_bytes, kept.whole) == ('[["ü"], {}, {}]', False, 16, True)
    assert kept.headers == headers
    assert kept.properties == {"correlation_id": "i", "priority": 0}  # the others are the broker's own


@pytest.mark.parametrize(
    ("body", "kept", "in_base64", "size"),
    [
        (b"", "", False, 0),
        (None, "", False, 0),
        ("text", "text", False, 4),
        (bytearray(b"x"), "x", False, 1),
        (b"\x80\x04", "gAQ=", True, 2),
        (b"a\x00b", "YQBi", True, 3),  # no text of the ledger can hold NUL
        (["a list"], "['a list']", False, 10),
    ],
)
def test_a_body_is_text_where_it_is_text_and_base64_where_it_is_none(
    body: object, kept: str, in_base64: bool, size: int
) -> None:
    told = letter(body)
    assert (told.body, told.in_base64, told.body_bytes, told.whole) == (kept, in_base64, size, True)


def test_a_pickle_is_never_loaded() -> None:
    pickled = pickle.dumps(Explodes())
    told = letter(pickled, content_type="application/x-python-serialize")
    assert base64.b64decode(told.body) == pickled


@pytest.mark.parametrize("sign", ["x", "ü", "\N{GRINNING FACE}"])
@pytest.mark.parametrize("more", [-1, 0, 1, BEYOND, BEYOND + 1, 10_000_000])
def test_a_large_body_is_cut_between_two_signs(sign: str, more: int) -> None:
    body = sign * ((BODY_MOST + more) // len(sign.encode()))
    told = letter(body.encode())
    size = len(body.encode())
    assert told.body == sign * (min(BODY_MOST, size) // len(sign.encode()))
    assert (told.whole, told.body_bytes, told.in_base64) == (size <= BODY_MOST, size, False)


@pytest.mark.parametrize("before", range(3))
def test_a_secret_is_in_nothing_that_is_kept_in_no_form(before: int) -> None:
    encoded = base64.b64encode(b"x" * before + SECRET.encode())
    headers = {"url": f"redis://:{SECRET}@h", "task": SECRET, "id": {"of": SECRET}, SECRET: 1, "n": [SECRET, b"raw"]}
    for body in (SECRET.encode(), b"\xff" + SECRET.encode(), encoded):
        told = letter(body, headers=headers, properties={"reply_to": SECRET}, content_type=SECRET)
        assert not told.whole
        shown = repr(told) + (base64.b64decode(told.body).decode("latin-1") if told.in_base64 else "")
        assert SECRET not in shown
        assert encoded.decode().rstrip("=")[2:-2] not in shown


LONG = "k3y-" * 25  # many of these make a text much shorter than it was


@settings(max_examples=60)
@given(st.sampled_from([0, BEYOND]), st.integers(-len(LONG), 3), st.integers(100, 300), st.booleans())
def test_a_secret_that_lies_across_a_cut_is_not_kept_in_part(beyond: int, at: int, after: int, binary: bool) -> None:
    redact = Redaction([LONG])
    for most, in_header in ((BODY_MOST, False), (VALUE_MOST, True)):
        place = most + beyond + at
        text = (f"{LONG}-" * (place // (len(LONG) + 1))).ljust(place, ".") + LONG + "." * after
        text = text.ljust(HEADERS_MOST + 1, ".")
        body, headers = (b"", {"text": text}) if in_header else ((b"\xff" * binary) + text.encode(), {})
        message = SimpleNamespace(headers=headers, properties={}, delivery_info={}, body=body)
        told = dead_letter(
            SimpleNamespace(**vars(message), content_type=None, content_encoding=None), "it is foreign", redact
        )
        kept = base64.b64decode(told.body).decode("latin-1") if told.in_base64 else told.body
        assert LONG[:6] not in kept + repr(told.headers)
        assert len(kept) <= BODY_MOST


@pytest.mark.parametrize("name", ["Authorization", "x-api-key", "db_password", "cookie"])
def test_a_header_whose_name_says_that_it_is_secret_is_not_kept(name: str) -> None:
    told = letter(headers={"task": "t", name: "whatever it is"})
    assert told.headers == {"task": "t", name: HIDDEN}
    assert not told.whole


def test_headers_are_bounded_together_and_one_that_is_too_long_shows_its_beginning() -> None:
    many = letter(headers={f"n{number}": "x" * 100 for number in range(1_000)})
    assert len(to_json(many.headers)) < HEADERS_MOST + 1_000
    assert not many.whole
    long = letter(headers={"task": "t" * 1_000, "argsrepr": "y" * 100_000})
    assert long.task == "t" * NAME_MOST
    assert long.headers["argsrepr"] == '"' + "y" * (VALUE_MOST - 1)
    assert not long.whole


@pytest.mark.parametrize("value", [b"raw", datetime(2026, 1, 1, tzinfo=UTC), float("nan"), "a\0b", "\ud800", {1, 2}])
def test_what_json_or_the_ledger_cannot_hold_is_shown_as_text(value: object) -> None:
    told = letter(headers={"task": "t", "odd": value})
    assert isinstance(told.headers["odd"], str)
    to_json(told.headers)
    assert not told.whole


def test_parts_that_are_of_no_type_that_they_should_be_are_told_all_the_same() -> None:
    told = letter(headers=["no mapping"], properties=7, delivery_info="nowhere", content_type=3, content_encoding=None)
    assert (told.headers, told.properties, told.queue, told.task) == ({}, {}, None, None)
    assert (told.content_type, told.content_encoding) == ("3", None)
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    assert letter(headers={"task": nested, "id": 7}).task_id == "7"


@settings(max_examples=50)
@given(
    st.binary(max_size=200),
    st.dictionaries(st.text(max_size=5), st.one_of(st.text(), st.floats(), st.binary(), st.none()), max_size=4),
)
def test_whatever_comes_the_ledger_can_hold_what_is_kept(body: bytes, headers: dict[str, Any]) -> None:
    told = letter(body, headers=headers)
    to_json([told.why, told.queue, told.task, told.task_id, told.body, told.headers, told.properties])
    assert (base64.b64decode(told.body) if told.in_base64 else told.body.encode()) == body


def test_what_is_no_message_is_kept_but_cannot_be_sent_again() -> None:
    told = raw_letter("items", b"hello", "it is no message", REDACT)
    assert (told.queue, told.body, told.whole, told.task, told.headers) == ("items", "hello", False, None, {})
