"""What was granted lately, and the limit in force that follows from it, the settings and the endpoint's reports."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limit_world.formulas import (
    add_usage,
    granted_within,
    learn_limit,
    limit_in_force,
    read_usage,
    table,
    write_usage,
)
from tamis_worker.limiter.script import LIMIT_KEPT

SECOND = 1_000_000
MINUTE = 60 * SECOND
NOW = 600 * SECOND
NOTHING_NEW: dict[str, float] = {"limit": 0, "taken": 0, "lasts": 0, "ago": 0, "windowed": 0}


def remembered(**fields: float) -> Any:
    unknown = dict.fromkeys(("limit", "heard", "windowed", "bucket", "foreign"), 0)
    rate = {f"{name}_{kind}": value for kind in ("requests", "tokens") for name, value in unknown.items()}
    return table(**(rate | {"foreign_requests_until": 0, "foreign_tokens_until": 0, "filled": NOW} | fields))


@given(grants=st.lists(st.tuples(st.integers(0, 10 * SECOND), st.integers(0, 50), st.integers(0, 9_999)), max_size=12))
def test_usage_is_read_as_it_was_written_and_a_minute_holds_what_was_granted_in_it(
    grants: list[tuple[int, int, int]],
) -> None:
    usage, rate, now = read_usage("", NOW), remembered(), NOW
    begun = list[tuple[int, int]]()
    for pause, requests, tokens in grants:
        now += pause
        add_usage(usage, rate, now, requests, tokens)
        begun.append((now, requests))
    now += 1
    written = write_usage(usage)
    assert write_usage(read_usage(written, now)) == written
    # As far as slices of 2 s can tell.
    least = sum(requests for at, requests in begun if at > now - MINUTE + 2 * SECOND)
    most = sum(requests for at, requests in begun if at > now - MINUTE - 2 * SECOND)
    assert least <= granted_within(read_usage(written, now), now, "requests") <= most
    assert rate.bucket_requests == sum(requests for _, requests in begun)


@pytest.mark.parametrize(
    ("span", "ago", "granted"),
    [
        (60, 0, 80),
        (30, 0, 20),  # the slices that began at 574 s and 598 s: all of one, 20
        (60, 30, 60),  # 510 to 570 s: that of 548 s
        (51, 0, 20 + 30),  # from 549 s on: the half of 60 in 548..550 s
    ],
)
def test_a_slice_counts_by_the_part_of_it_that_lies_within(span: int, ago: int, granted: int) -> None:
    usage = read_usage(f"{400 // 2} 500 0,{548 // 2} 60 0,{598 // 2} 20 0", NOW)
    assert granted_within(usage, NOW, "requests", span * SECOND, ago * SECOND) == granted


@pytest.mark.parametrize(
    ("what", "rate", "setting", "report", "limit"),
    [
        ("nobody knows one", {}, 0, {}, 0),
        ("the settings' alone", {}, 600, {}, 600),
        ("the endpoint's alone", {"limit_requests": 300}, 0, {}, 300),
        ("the lower one", {"limit_requests": 300}, 600, {}, 300),
        ("the operator wants less", {"limit_requests": 900}, 600, {}, 600),
        (
            "others use 200 of it",
            {"limit_requests": 1_000, "foreign_requests": 200, "foreign_requests_until": NOW + 1},
            *(0, {}, 750),  # 1,000 - 1.25 x 200
        ),
        (
            "they did until now",
            {"limit_requests": 1_000, "foreign_requests": 200, "foreign_requests_until": NOW},
            *(0, {}, 1_000),
        ),
        (
            "others use all of it",
            {"limit_requests": 1_000, "foreign_requests": 1_000, "foreign_requests_until": NOW + 1},
            *(0, {}, 100),  # a tenth is used all the same
        ),
        # A bucket of which 400 are taken; we explain 100 and what came back in the 6 s of the call, 100.
        (
            "a bucket that others empty",
            {"limit_requests": 1_000, "bucket_requests": 100},
            *(0, {"taken": 400, "lasts": 24 * SECOND, "ago": 6 * SECOND}, 750),
        ),
        (
            "a bucket that we empty",
            {"limit_requests": 1_000, "bucket_requests": 300},
            *(0, {"taken": 400, "lasts": 24 * SECOND, "ago": 6 * SECOND}, 1_000),
        ),
        # In the 30 s since it began 100 were taken by others: 200 a minute.
        (
            "a fixed window",
            {"limit_requests": 1_000, "windowed_requests": 1},
            *(0, {"taken": 100, "lasts": 30 * SECOND}, 750),
        ),
        ("a difference that is none", {"limit_requests": 1_000}, 0, {"taken": 20}, 1_000),
    ],
)
def test_the_limit_in_force_is_the_lower_one_less_what_others_use(
    what: str, rate: dict[str, float], setting: int, report: dict[str, float], limit: int
) -> None:
    reported = table(**(NOTHING_NEW | report))
    assert limit_in_force(remembered(**rate), read_usage("", NOW), NOW, "requests", setting, reported) == limit, what


def test_a_sliding_window_may_have_been_looked_at_at_any_moment_of_the_call() -> None:
    """Of a call of 30 s; the minute that ended in its middle holds all 200 that are taken, those at its ends 100."""
    usage = read_usage(f"{538 // 2} 100 0,{580 // 2} 100 0", NOW)
    rate = remembered(limit_requests=1_000, windowed_requests=1)
    report = table(**(NOTHING_NEW | {"taken": 200, "lasts": MINUTE, "ago": 30 * SECOND}))
    assert limit_in_force(rate, usage, NOW, "requests", 0, report) == 1_000


def test_a_report_that_shows_much_less_of_others_use_does_not_lower_it_before_its_time() -> None:
    rate = remembered(limit_requests=1_000, foreign_requests=200, foreign_requests_until=NOW + 1)
    report = table(**(NOTHING_NEW | {"taken": 100}))
    assert limit_in_force(rate, read_usage("", NOW), NOW, "requests", 0, report) == 750


def test_what_comes_back_into_a_bucket_fills_it_and_no_more() -> None:
    rate = remembered(bucket_tokens=30)
    add_usage(read_usage("", NOW), rate, NOW, 0, -50)
    assert rate.bucket_tokens == 0


def test_a_limit_is_believed_until_it_was_not_repeated_for_minutes_and_a_window_for_ever() -> None:
    rate = remembered()
    learn_limit(rate, NOW, "tokens", table(**(NOTHING_NEW | {"limit": 900, "windowed": 1})))
    nothing = table(**NOTHING_NEW)
    learn_limit(rate, NOW + LIMIT_KEPT * SECOND - 1, "tokens", nothing)
    assert rate.limit_tokens == 900
    learn_limit(rate, NOW + LIMIT_KEPT * SECOND, "tokens", nothing)
    assert (rate.limit_tokens, rate.windowed_tokens) == (0, 1)


def test_a_bucket_fills_again_at_the_limits_pace() -> None:
    rate = remembered(limit_requests=600, bucket_requests=100, filled=NOW - 5 * SECOND)
    limit_in_force(rate, read_usage("", NOW), NOW, "requests", 0, table(**NOTHING_NEW))
    assert rate.bucket_requests == 50  # 10 a second
