"""The double's rate limits, with time as an argument."""

import pytest

from llm_double.limits import Limits, Refusal, duration


def test_requests_are_admitted_up_to_the_limit_and_again_as_the_bucket_refills() -> None:
    limits = Limits(rpm=2, tpm=None, minute=60.0, now=0.0)
    assert [limits.admit(1, 0.0) for _ in range(2)] == [None, None]
    assert limits.admit(1, 0.0) == Refusal("requests", 2, 1, 30.0)  # 1 of 2 a minute: 30 s
    assert limits.admit(1, 15.0) == Refusal("requests", 2, 1, 15.0)
    assert limits.admit(1, 30.0) is None


def test_a_refused_call_takes_nothing() -> None:
    limits = Limits(rpm=10, tpm=100, minute=60.0, now=0.0)
    assert limits.admit(90, 0.0) is None
    refused = limits.admit(20, 0.0)
    assert refused is not None
    assert refused.resource == "tokens"
    assert limits.headers(0.0)["x-ratelimit-remaining-requests"] == "9"


def test_a_call_larger_than_the_limit_is_told_no_time_to_wait() -> None:
    assert Limits(None, 100, 60.0, 0.0).admit(101, 0.0) == Refusal("tokens", 100, 101, None)


def test_the_headers_tell_limit_remaining_and_reset() -> None:
    limits = Limits(rpm=60, tpm=6000, minute=60.0, now=0.0)
    limits.admit(600, 0.0)
    assert limits.headers(0.0) == {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",  # 1 of 60 a minute
        "x-ratelimit-limit-tokens": "6000",
        "x-ratelimit-remaining-tokens": "5400",
        "x-ratelimit-reset-tokens": "6s",  # 600 of 6000 a minute
    }


def test_a_shorter_minute_refills_faster() -> None:
    limits = Limits(rpm=2, tpm=None, minute=1.0, now=0.0)
    limits.admit(1, 0.0)
    limits.admit(1, 0.0)
    assert limits.admit(1, 0.5) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0ms"),
        (0.017, "17ms"),
        (0.9999, "1s"),
        (1.0, "1s"),
        (6.5, "6.5s"),
        (59.9996, "1m0s"),
        (90.0, "1m30s"),
        (7205.0, "2h0m5s"),
    ],
)
def test_durations_are_written_as_openai_writes_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
