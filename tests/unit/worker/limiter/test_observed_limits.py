"""What is worth telling of what an endpoint says."""

import pytest

from tamis_worker.limiter.rate_headers import RateHeaders
from tamis_worker.limiter.script import NO_REPORT, LimitReport, ObservedLimits, SharedLimit

NOW = 1_000.0
UNKNOWN = SharedLimit()
BUCKET = SharedLimit(limit=6_000, granted=5_900, bucket=0)
WINDOW = SharedLimit(limit=6_000, granted=5_900, windowed=True)


def reported(rate: RateHeaders, shared: SharedLimit, age: float = 1.0) -> LimitReport:
    observed = ObservedLimits()
    observed._confirmed_at = NOW  # nothing is confirmed here
    observed.note(rate, age, shared, UNKNOWN)
    return observed.take_reports(NOW, shared, UNKNOWN).requests


@pytest.mark.parametrize(
    ("what", "rate", "shared", "report"),
    [
        ("a limit that nobody knows", RateHeaders(6_000, 5_999, 0.01), UNKNOWN, LimitReport(limit=6_000)),
        ("another limit", RateHeaders(3_000, 3_000, 0.0), BUCKET, LimitReport(limit=3_000)),
        ("the known one", RateHeaders(6_000, 6_000, 0.0), BUCKET, NO_REPORT),
        ("a limit per day", RateHeaders(14_400, 14_370, 180.0), BUCKET, NO_REPORT),
        ("a bucket from which we took a little", RateHeaders(6_000, 5_900, 1.0), BUCKET, NO_REPORT),
        # 1,200 taken come back in 12 s: a bucket. We explain 0 + 1 s of 6,000 a minute.
        (
            "a bucket that others empty",
            RateHeaders(6_000, 4_800, 12.0),
            BUCKET,
            LimitReport(taken=1_200, lasts=12.0, ago=1.0),
        ),
        ("an answer that says no reset", RateHeaders(6_000, 100, None), WINDOW, NO_REPORT),
        ("a sliding window that we fill", RateHeaders(6_000, 90, 60.0), WINDOW, NO_REPORT),
        # 1,000 taken would be back in 10 s if it were a bucket; three seconds beside that are believed.
        (
            "nearly a bucket, early",
            RateHeaders(6_000, 5_000, 7.0),
            BUCKET,
            LimitReport(taken=1_000, lasts=7.0, ago=1.0),
        ),
        (
            "nearly a bucket, late",
            RateHeaders(6_000, 5_000, 13.0),
            BUCKET,
            LimitReport(taken=1_000, lasts=13.0, ago=1.0),
        ),
        ("too late for a bucket", RateHeaders(6_000, 5_000, 13.01), BUCKET, LimitReport(windowed=True)),
        ("the first sign of a window", RateHeaders(6_000, 5_000, 60.0), BUCKET, LimitReport(windowed=True)),
        # Of our 5,900 a minute, a quarter in the 15 s since the window began: 1,475.
        ("a fixed window that we fill", RateHeaders(6_000, 4_500, 45.0 - 1e-6), WINDOW, NO_REPORT),
        ("a fixed window that is too young to tell of others", RateHeaders(6_000, 4_000, 45.0), WINDOW, NO_REPORT),
        (
            "a fixed window that others fill too",
            RateHeaders(6_000, 4_000, 44.0),
            WINDOW,
            LimitReport(taken=2_000, lasts=44.0, ago=1.0),
        ),
    ],
)
def test_only_what_is_new_is_told(what: str, rate: RateHeaders, shared: SharedLimit, report: LimitReport) -> None:
    assert reported(rate, shared) == report, what


def test_an_old_answer_of_a_bucket_explains_itself_by_what_has_come_back_since() -> None:
    assert reported(RateHeaders(6_000, 4_800, 12.0), BUCKET, age=20.0) == NO_REPORT


def test_of_many_answers_the_worst_is_told_once() -> None:
    observed = ObservedLimits()
    for remaining in (4_800, 3_000, 4_000):
        reset = (6_000 - remaining) / 100
        observed.note(RateHeaders(6_000, remaining, reset), 0.5, BUCKET, UNKNOWN)
    assert observed.take_reports(NOW, BUCKET, UNKNOWN).requests.taken == 3_000
    assert observed.take_reports(NOW + 1, BUCKET, UNKNOWN).requests == NO_REPORT


def test_a_limit_that_still_stands_is_confirmed_once_a_minute() -> None:
    observed = ObservedLimits()
    told = []
    for second in range(130):
        observed.note(RateHeaders(6_000, 6_000, 0.0), 0.5, BUCKET, UNKNOWN)
        if observed.take_reports(NOW + second, BUCKET, UNKNOWN).requests.limit:
            told.append(second)
    assert told == [0, 60, 120]


def test_a_lower_limit_is_urgent_and_a_higher_one_is_not() -> None:
    for limit, urgent in ((3_000, True), (9_000, False)):
        observed = ObservedLimits()
        observed.note(RateHeaders(limit, limit, 0.0), 0.5, BUCKET, UNKNOWN)
        assert observed.lowers(BUCKET, UNKNOWN) is urgent
