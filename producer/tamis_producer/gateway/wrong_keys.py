"""A limit on look-ups of API keys after wrong keys. The limit never refuses a key that was right before."""

import hashlib
import os
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from math import ceil
from threading import Lock

from fastapi import HTTPException, Request

from .api_keys import ApiKey

BURST = 20  # wrong keys at once, from an address
A_SECOND = 1.0  # further wrong keys a second
BURST_OF_ALL = 200  # wrong keys at once, from all addresses
A_SECOND_OF_ALL = 10.0
ADDRESSES = 65_536  # slots for addresses: two in the same slot share its limit
MOST_PROVEN = 4_096  # keys


class WrongKeys:
    """A counter of wrong API keys, by address and in total, in bounded memory.

    Two kinds of keys are always looked up: a key that was right before, and a key from an address without recent wrong
    keys.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._salt = os.urandom(16)  # so that callers cannot choose a slot
        self._lock = Lock()
        self._spent = array("d", bytes(8 * ADDRESSES))
        self._since = array("d", bytes(8 * ADDRESSES))
        self._of_all = 0.0
        self._of_all_since = 0.0
        self._proven: OrderedDict[bytes, None] = OrderedDict()

    def key_for(self, request: Request, key: str, look_up: Callable[[], ApiKey | None]) -> ApiKey | None:
        """Return the key that `look_up` finds; None for a wrong key.

        After too many wrong keys, answer 429 without a look-up.
        """
        address, digest = request.client.host if request.client else "", self._digest(key)
        if (wait := self.wait(address, digest)) is not None:
            raise HTTPException(
                HTTPStatus.TOO_MANY_REQUESTS,
                "too many wrong keys: try again later",
                headers={"Retry-After": str(ceil(wait))},
            )
        api_key = look_up()
        if api_key is None:
            self.wrong(address, digest)
        else:
            self.right(digest)
        return api_key

    def wait(self, address: str, digest: bytes) -> float | None:
        """Return the seconds until a key from this address may be looked up; None: now. `digest`: the key's hash."""
        now, place = self._clock(), self._place(address)
        with self._lock:
            if digest in self._proven:
                return None
            spent = _left(self._spent[place], now - self._since[place], A_SECOND)
            if spent > BURST - 1:
                return (spent - (BURST - 1)) / A_SECOND
            of_all = _left(self._of_all, now - self._of_all_since, A_SECOND_OF_ALL)
            if spent and of_all > BURST_OF_ALL - 1:
                return min(spent / A_SECOND, (of_all - (BURST_OF_ALL - 1)) / A_SECOND_OF_ALL)
            return None

    def wrong(self, address: str, digest: bytes) -> None:
        """Count a wrong key."""
        now, place = self._clock(), self._place(address)
        with self._lock:
            self._proven.pop(digest, None)  # it was revoked
            self._spent[place] = _left(self._spent[place], now - self._since[place], A_SECOND) + 1
            self._since[place] = now
            self._of_all = _left(self._of_all, now - self._of_all_since, A_SECOND_OF_ALL) + 1
            self._of_all_since = now

    def right(self, digest: bytes) -> None:
        """Remember a right key. If too many are remembered, forget the least recently used key."""
        with self._lock:
            self._proven[digest] = None
            self._proven.move_to_end(digest)
            if len(self._proven) > MOST_PROVEN:
                self._proven.popitem(last=False)

    def _digest(self, key: str) -> bytes:
        return hashlib.blake2b(key.encode("utf-8", "replace"), key=self._salt, digest_size=16).digest()

    def _place(self, address: str) -> int:
        return int.from_bytes(self._digest(address)[:4]) % ADDRESSES


def _left(spent: float, seconds: float, rate: float) -> float:
    return max(0.0, spent - seconds * rate)
