"""How long a request waits: what it prefers, never longer than the gateway lets it."""

import pytest

from tamis_producer.gateway.services import seconds_of


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        ("", 60),
        ("wait=10", 10),
        ("wait=600", 60),
        ("wait=0", 0),
        ('Wait = "7"', 7),
        ("return=minimal; wait=5", 5),
        ("respond-async", 0),
        ("respond-async, wait=20", 20),
        ("wait=long", 60),
        ("await=1", 60),
        ("respond-asynchronously", 60),
    ],
)
def test_a_preference_is_kept_within_the_bound(prefer: str, seconds: int) -> None:
    assert seconds_of(prefer, 60) == seconds
