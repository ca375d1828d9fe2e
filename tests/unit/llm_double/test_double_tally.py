"""What the double counts, with time as an argument."""

import json

from llm_double import Second, Tally
from llm_double.tally import Turnstile


def test_every_second_has_its_own_counts() -> None:
    turnstile = Turnstile(minute=60.0)
    for now, admitted in ((7.1, True), (7.9, True), (7.95, False), (9.0, True)):
        turnstile.count(100, now, admitted=admitted)
    assert turnstile.tally().seconds == (Second(7, 2, 200, 1), Second(9, 1, 100, 0))


def test_the_fullest_minute_is_found_wherever_it_begins() -> None:
    turnstile = Turnstile(minute=60.0)
    for now, tokens in ((0.0, 10), (50.0, 20), (59.9, 30), (60.0, 5), (200.0, 1)):
        turnstile.count(tokens, now, admitted=True)
    tally = turnstile.tally()
    assert tally.most_requests == 3  # (0, 50, 59.9] and (50, 59.9, 60]: at 60.0 the first has left
    assert tally.most_tokens == 60  # 10 + 20 + 30


def test_a_call_that_is_refused_counts_towards_the_fullest_minute() -> None:
    turnstile = Turnstile(minute=60.0)
    for admitted in (True, False):
        turnstile.count(10, 1.0, admitted=admitted)
    tally = turnstile.tally()
    assert (tally.most_requests, tally.most_tokens) == (2, 20)


def test_a_tally_survives_the_way_as_json() -> None:
    tally = Tally((Second(1, 2, 3, 4), Second(5)), most_requests=6, most_tokens=7)
    assert Tally.from_json(json.loads(json.dumps(tally.to_json()))) == tally
