"""Keys that expire, as Entra ID's and Vertex's do after an hour."""

import hashlib
from dataclasses import dataclass, field

from ..asked import Asked
from ..errors import USUAL, Problem
from ..script import Kind
from .behaviour import Behaviour

EXPIRED = Problem(
    401,
    "token expired: the access token has expired; obtain a new one and try again.",
    "authentication_error",
    code="token_expired",
)


@dataclass
class _Use:
    calls: int = 0
    first: float | None = None  # when it was first used


@dataclass
class ExpiringKey(Behaviour):
    """Answers 401 to a key that is used up.

    With `keys`, one of them is valid at a time: the next one as soon as the one before is used up, and any other key is
    unknown. Without, any key is taken until it is used up itself. A key counts as used by calls that it lets in.
    """

    after_calls: int | None = None
    seconds: float | None = None  # since its first call
    keys: tuple[str, ...] = ()
    _used: dict[str, _Use] = field(default_factory=dict, init=False, repr=False)
    _place: int = field(default=0, init=False)

    def refusal(self, asked: Asked) -> Problem | None:
        """401 for a key that is not valid; a valid one is used once more."""
        problem = self.problem(asked.key, asked.now)
        if problem is None:
            use = self._used.setdefault(_digest(asked.key), _Use())
            use.calls += 1
            use.first = asked.now if use.first is None else use.first
        return problem

    def problem(self, key: str, now: float) -> Problem | None:
        """What is wrong with a key; None where it is valid."""
        if not self.keys:
            return EXPIRED if self._is_used_up(key, now) else None
        if key == self.valid(now):
            return None
        return EXPIRED if key in self.keys[: self._place] else USUAL[Kind.UNAUTHORIZED]

    def valid(self, now: float) -> str | None:
        """The key of the list that is valid now; None where all are used up, or none is listed."""
        while self._place < len(self.keys) and self._is_used_up(self.keys[self._place], now):
            self._place += 1
        return self.keys[self._place] if self._place < len(self.keys) else None

    def rotate(self, now: float) -> str | None:
        """Let the valid key expire; the one that is valid then."""
        if self.valid(now) is not None:
            self._place += 1
        return self.valid(now)

    def _is_used_up(self, key: str, now: float) -> bool:
        use = self._used.get(_digest(key))
        if use is None:
            return False
        late = self.seconds is not None and use.first is not None and now - use.first >= self.seconds
        return late or (self.after_calls is not None and use.calls >= self.after_calls)


def _digest(key: str) -> str:
    """A key as the double may remember it."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
