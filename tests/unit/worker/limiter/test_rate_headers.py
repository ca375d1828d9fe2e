"""What endpoints say of their limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_worker.limiter.rate_headers import RateHeaders, duration, read_rate_headers


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("17ms", 0.017),
        ("6.5s", 6.5),
        ("1s", 1.0),
        ("1m30s", 90.0),
        ("2m0.5s", 120.5),
        ("2h0m5s", 7_205.0),
        ("6m0s", 360.0),
        ("1d2h", 93_600.0),
        ("1m", 60.0),
        ("1m5ms", 60.005),
        ("59.7", 59.7),
        ("0", 0.0),
        ("0s", 0.0),
    ],
)
def test_durations_are_read_in_the_forms_that_endpoints_use(text: str, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [None, "", "soon", "s", "-1", "1x", "1s1m", "nan", "inf", "1e400", "2026-11-22T05:00:00Z", "1795324800", "١s"],
)
def test_what_is_no_duration_is_none(text: str | None) -> None:
    assert duration(text) is None


def test_the_six_headers_are_read() -> None:
    headers = {
        "x-ratelimit-limit-requests": "6000",
        "x-ratelimit-remaining-requests": "5999",
        "x-ratelimit-reset-requests": "10ms",
        "x-ratelimit-limit-tokens": "2000000",
        "x-ratelimit-remaining-tokens": "1999000",
        "x-ratelimit-reset-tokens": "30ms",
    }
    assert read_rate_headers(headers) == RateHeaders(6_000, 5_999, 0.01, 2_000_000, 1_999_000, 0.03)


def test_the_last_one_and_none_left_are_counts() -> None:
    headers = {
        f"x-ratelimit-{what}-{of}": count
        for of in ("requests", "tokens")
        for what, count in (("limit", "1"), ("remaining", "0"))
    }
    assert read_rate_headers(headers) == RateHeaders(1, 0, None, 1, 0, None)


def test_an_answer_without_such_headers_says_nothing() -> None:
    assert read_rate_headers({"content-type": "application/json", "x-ratelimit-limit": "60"}) is None


@pytest.mark.parametrize("limit", ["0", "-1", "unlimited", "", "1e3", "10000000000000000000", "1000000000001", "1.5"])
def test_a_limit_that_cannot_be_one_is_ignored_and_the_rest_is_read(limit: str) -> None:
    headers = {"x-ratelimit-limit-requests": limit, "x-ratelimit-remaining-tokens": "7"}
    assert read_rate_headers(headers) == RateHeaders(remaining_tokens=7)


@given(st.text())
def test_no_text_raises(text: str) -> None:
    read_rate_headers({"x-ratelimit-limit-requests": text, "x-ratelimit-reset-requests": text})
