"""What the doctor says of the LLM's key."""

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_cli.doctor.finding import Level
from tamis_cli.doctor.llm import _renewal_of, expiry_of, judge_key
from tamis_worker.config.settings import WorkerSettings

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def token(claims: object) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part(claims)}.signature"


@pytest.mark.parametrize("padding", ["", "x", "xx", "xxx"])  # base64 without its = at each length
def test_a_web_token_says_when_it_expires(padding: str) -> None:
    assert expiry_of(token({"sub": padding, "exp": NOW.timestamp()})) == NOW


@pytest.mark.parametrize(
    "key",
    [
        "",
        "sk-abc",
        "a.b.c",
        "a.b",
        token({}),
        token({"exp": "soon"}),
        token({"exp": None}),
        token({"exp": 1e300}),
        token({"exp": float("nan")}),
        token([1]),
        token("exp"),
    ],
)
def test_of_any_other_key_nothing_is_known(key: str) -> None:
    assert expiry_of(key) is None


@given(st.text() | st.from_type(dict[str, int]).map(json.dumps))
def test_no_key_is_too_odd_to_be_looked_at(key: str) -> None:
    for one in (key, f"{key}.{key}.{key}", f"a.{base64.urlsafe_b64encode(key.encode()).decode()}.c"):
        expires = expiry_of(one)
        assert expires is None or expires.tzinfo is UTC


@pytest.mark.parametrize(
    ("source", "left", "level", "says"),
    [
        ("llm_api_key", None, Level.OK, "it states no expiry date"),
        (
            "llm_api_key",
            timedelta(minutes=58),
            Level.WARNING,
            "in 58 minutes, at 2026-11-22 12:58 UTC, and nothing",
        ),
        ("llm_api_key", timedelta(hours=24), Level.WARNING, "in 24 hours"),
        ("llm_api_key", timedelta(hours=24, seconds=1), Level.OK, "in 24 hours"),
        ("llm_api_key", timedelta(days=3), Level.OK, "in 3 days"),
        ("llm_api_key_file", timedelta(minutes=58), Level.OK, "TAMIS_LLM_API_KEY_FILE is read again when it changes"),
        ("llm_api_key_command", timedelta(seconds=90), Level.OK, "in 90 seconds"),
        ("llm_api_key", timedelta(0), Level.WARNING, "it expired at 2026-11-22 12:00 UTC"),
        ("llm_api_key_file", timedelta(hours=-1), Level.WARNING, "it expired at 2026-11-22 11:00 UTC"),
    ],
)
def test_a_key_is_judged_by_what_is_left_of_it_and_whether_it_is_renewed(
    source: str, left: timedelta | None, level: Level, says: str
) -> None:
    renewed = _renewal_of(WorkerSettings(**{source: "x"}))
    found = judge_key(None if left is None else NOW + left, NOW, renewed=renewed)
    assert (found.level, says in found.what) == (level, True), found
