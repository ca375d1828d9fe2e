"""The double's rate limits, with time as an argument."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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


def test_no_minute_holds_more_than_the_limit_where_windows_slide() -> None:
    limits = Limits(rpm=3, tpm=None, minute=60.0, now=0.0, sliding=True)
    assert [limits.admit(1, at) for at in (0.0, 10.0, 20.0)] == [None] * 3
    assert limits.admit(1, 59.0) == Refusal("requests", 3, 1, 1.0)  # the first leaves the window at 60
    assert limits.admit(1, 60.0) is None
    assert limits.admit(1, 60.0) == Refusal("requests", 3, 1, 10.0)  # the second leaves it at 70


def test_a_sliding_window_counts_tokens_and_tells_when_enough_of_them_have_left_it() -> None:
    limits = Limits(rpm=None, tpm=100, minute=60.0, now=0.0, sliding=True)
    assert [limits.admit(tokens, at) for tokens, at in ((40, 0.0), (40, 5.0))] == [None, None]
    assert limits.admit(50, 6.0) == Refusal("tokens", 100, 50, 54.0)  # 20 are left, 40 more at 60 s
    assert limits.admit(60, 6.0) == Refusal("tokens", 100, 60, 54.0)
    assert limits.admit(61, 6.0) == Refusal("tokens", 100, 61, 59.0)
    assert limits.admit(90, 6.0) == Refusal("tokens", 100, 90, 59.0)  # both must leave: at 65 s
    assert limits.admit(101, 6.0) == Refusal("tokens", 100, 101, None)
    assert limits.headers(6.0) == {
        "x-ratelimit-limit-tokens": "100",
        "x-ratelimit-remaining-tokens": "20",
        "x-ratelimit-reset-tokens": "59s",  # the last leaves at 65
    }


@example([(0.0, 1), (29.999999999999996, 40), (29.999999999999996, 60)])  # a minute later, but for a rounding
@given(st.lists(st.tuples(st.floats(0, 30), st.integers(1, 60)), max_size=60))
def test_whatever_is_asked_for_a_sliding_window_admits_no_more_than_the_limit_in_any_minute(
    asked: list[tuple[float, int]],
) -> None:
    limits = Limits(rpm=5, tpm=100, minute=60.0, now=0.0, sliding=True)
    admitted: list[tuple[float, int]] = []
    now = 0.0
    for pause, tokens in asked:
        now += pause
        refused = limits.admit(tokens, now)
        if refused is None:
            admitted.append((now, tokens))
        elif refused.wait is not None:
            assert refused.wait > 0
    for end, _ in admitted:
        within = [tokens for at, tokens in admitted if end - 60.0 < at <= end]
        assert len(within) <= 5
        assert sum(within) <= 100
