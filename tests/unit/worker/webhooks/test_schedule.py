"""When a webhook is tried again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_worker.webhooks.schedule import JITTER, LONGEST_ASKED, WAITS, DeliveryAnswer, decide

HOUR = 3600.0
AWAY = DeliveryAnswer(None, "no connection")


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_delivered(status: int) -> None:
    decision = decide(DeliveryAnswer(status, "answered"), 1)
    assert (decision.delivered, decision.wait) == (True, None)


@pytest.mark.parametrize("status", [None, 100, 301, 302, 400, 401, 404, 413, 429, 500, 503])
def test_anything_else_is_tried_again(status: int | None) -> None:
    decision = decide(DeliveryAnswer(status, "answered"), 1)
    assert (decision.delivered, decision.wait) == (False, WAITS[0])


def test_a_receiver_that_is_gone_is_given_up_at_once_and_it_is_said() -> None:
    decision = decide(DeliveryAnswer(410, "answered 410"), 1)
    assert (decision.delivered, decision.wait) == (False, None)
    assert decision.said == "answered 410: the receiver wants no more webhooks; given up"


def test_tries_go_on_for_a_day_and_then_it_is_said_that_they_end() -> None:
    at, times = 0.0, [0.0]
    for tries in range(1, 100):
        wait = decide(AWAY, tries).wait
        if wait is None:
            break
        at += wait
        times.append(at)
    # 5 s; + 5 min; + 30 min; + 2 h; + 5 h; + 10 h; + 6.4 h
    assert times == [0, 5, 305, 2105, 9305, 27305, 63305, 86345]
    assert decide(AWAY, len(times)).said == "no connection; given up after 8 tries in a day"


@pytest.mark.parametrize(
    ("status", "asked", "tries", "wait"),
    [
        (429, 60.0, 1, 60.0),
        (503, 60.0, 1, 60.0),
        (500, 60.0, 1, 5.0),  # nobody is asked to wait by a fault
        (429, 60.0, 2, 300.0),  # never sooner than the schedule
        (429, 90 * HOUR, 1, LONGEST_ASKED),
        (429, -5.0, 1, 5.0),
        (429, None, 3, 1800.0),
    ],
)
def test_a_receiver_may_ask_for_more_patience_within_a_bound(
    status: int, asked: float | None, tries: int, wait: float
) -> None:
    assert decide(DeliveryAnswer(status, "answered", asked), tries).wait == wait


@given(tries=st.integers(1, len(WAITS)), jitter=st.floats(0, 1))
def test_jitter_only_adds_and_no_more_than_its_share(tries: int, jitter: float) -> None:
    wait, plain = decide(AWAY, tries, jitter=jitter).wait, WAITS[tries - 1]
    assert wait is not None
    assert plain <= wait <= plain * (1 + JITTER)
