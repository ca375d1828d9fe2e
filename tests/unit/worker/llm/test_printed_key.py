"""A key out of a file or of a command's output, and when it expires by its own word."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_worker.llm.api_key import PrintedKey, expiry_of, read_key

NOON = 1_795_435_200.0  # 2026-11-23T12:00:00Z


def token(claims: object, signature: str = "c2ln") -> str:
    parts = [json.dumps(part).encode() for part in ({"alg": "RS256"}, claims)]
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), signature])


def test_noon_is_what_it_is_called() -> None:
    assert datetime.fromtimestamp(NOON, UTC).isoformat() == "2026-11-23T12:00:00+00:00"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("sk-1", PrintedKey("sk-1")),
        ("  sk-1\r\n", PrintedKey("sk-1")),
        # az account get-access-token: expiresOn is a local time of nobody knows where, expires_on is not
        (
            json.dumps({"accessToken": "t", "expiresOn": "2026-11-23 13:00:00.000000", "expires_on": int(NOON)}),
            PrintedKey("t", expires_at=NOON),
        ),
        # gcloud config config-helper --format=json
        (
            json.dumps({"credential": {"access_token": "ya29.t", "token_expiry": "2026-11-23T12:00:00Z"}}),
            PrintedKey("ya29.t", expires_at=NOON),
        ),
        # OAuth
        (json.dumps({"access_token": "t", "expires_in": 3599}), PrintedKey("t", expires_in=3599)),
        (json.dumps({"token": "t", "expires_at": "2026-11-23T13:00:00+01:00"}), PrintedKey("t", expires_at=NOON)),
        (json.dumps({"key": "t", "expires_at": "2026-11-23 12:00:00"}), PrintedKey("t")),
        (json.dumps({"key": "t", "expires_at": str(int(NOON)), "expires_in": "60"}), PrintedKey("t", NOON, 60)),
        (json.dumps({"key": "t", "expires_at": None, "expires_in": True}), PrintedKey("t")),
        (json.dumps({"key": "t", "expires_at": "soon", "expires_in": -5}), PrintedKey("t")),
        (token({"exp": NOON}), PrintedKey(token({"exp": NOON}), expires_at=NOON)),
        ("", None),
        ("two words", None),
        ("two\nlines", None),
        ("schlüssel", None),
        ("{}", None),
        ('{"accessToken": ""}', None),
        ('{"accessToken": 5}', None),
        ('{"accessToken": "two words"}', None),
        ("{oh", None),
    ],
)
def test_a_key_and_its_expiry_are_read_as_they_are_printed(text: str, key: PrintedKey | None) -> None:
    assert read_key(text) == key


@pytest.mark.parametrize(
    ("key", "expires"),
    [
        (token({"exp": NOON, "aud": "x"}), NOON),
        (token({"exp": str(int(NOON))}), NOON),
        (token({"exp": True}), None),
        (token({"exp": 10**40}), None),
        (token({}), None),
        (token([1]), None),
        ("a.b.c", None),
        ("a.\u00e4.c", None),
        ("sk-1", None),
        ("ya29.x", None),
        ("", None),
    ],
)
def test_a_json_web_token_says_when_it_expires(key: str, expires: float | None) -> None:
    assert expiry_of(key) == expires


@given(st.text() | st.builds(json.dumps, st.dictionaries(st.sampled_from(["token", "credential", "exp"]), st.text())))
def test_whatever_is_printed_is_a_key_in_one_word_or_none(text: str) -> None:
    key = read_key(text)
    assert key is None or (key.text.isascii() and key.text.split() == [key.text])


@given(st.text(), st.dictionaries(st.text(), st.integers() | st.text()))
def test_whatever_a_token_holds_its_expiry_is_a_number_or_none(text: str, claims: dict[str, Any]) -> None:
    for key in (text, f"a.{text}.c", token(claims)):
        assert isinstance(expiry_of(key), float | None)


def test_no_repr_says_a_key() -> None:
    assert "sk-1234" not in repr(read_key("sk-1234"))
