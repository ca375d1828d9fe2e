"""How many wrong keys are looked up, and that a right one does not wait for them."""

from tamis_producer.gateway import wrong_keys
from tamis_producer.gateway.wrong_keys import ADDRESSES, BURST, BURST_OF_ALL, MOST_PROVEN, WrongKeys


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def guesses(limiter: WrongKeys, address: str, count: int) -> int:
    """How many of so many wrong keys are looked up."""
    looked_up = 0
    for n in range(count):
        if limiter.wait(address, b"%d" % n) is None:
            limiter.wrong(address, b"%d" % n)
            looked_up += 1
    return looked_up


def test_an_address_may_be_wrong_so_often_and_then_once_a_second() -> None:
    clock = Clock()
    limiter = WrongKeys(clock)
    assert guesses(limiter, "10.0.0.1", 100) == BURST
    assert limiter.wait("10.0.0.1", b"x") == 1.0  # second until the next
    clock.now = 3.0
    assert guesses(limiter, "10.0.0.1", 100) == 3
    clock.now = 1_000.0
    assert guesses(limiter, "10.0.0.1", 100) == BURST


def test_a_key_that_was_right_is_always_looked_up() -> None:
    limiter = WrongKeys(Clock())
    limiter.right(b"mine")
    guesses(limiter, "10.0.0.1", 100)
    assert limiter.wait("10.0.0.1", b"mine") is None
    limiter.wrong("10.0.0.1", b"mine")  # until it is revoked
    assert limiter.wait("10.0.0.1", b"mine") is not None


def test_whoever_gave_no_wrong_key_is_looked_up_whatever_others_give() -> None:
    limiter = WrongKeys(Clock())
    looked_up = sum(guesses(limiter, f"10.0.1.{n}", 10) for n in range(100))
    # The first one of each address, and together no more than all may.
    assert BURST_OF_ALL <= looked_up <= BURST_OF_ALL + 100
    assert limiter.wait("10.0.1.7", b"x") is not None
    assert limiter.wait("10.9.9.9", b"x") is None


def test_memory_does_not_grow_with_who_calls() -> None:
    limiter = WrongKeys(Clock())
    for n in range(MOST_PROVEN + 10):
        limiter.right(b"%d" % n)
        limiter.wrong(f"10.0.0.{n}", b"wrong")
    assert len(limiter._proven) == MOST_PROVEN
    assert len(limiter._spent) == ADDRESSES == wrong_keys.ADDRESSES
