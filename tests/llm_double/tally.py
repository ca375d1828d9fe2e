"""What came to the double second by second, and the most that any minute held: counted where the limit is enforced."""

from collections import deque
from dataclasses import dataclass
from typing import Any, Self


@dataclass(slots=True)
class Second:
    """The calls that came within one second of the machine's monotonic clock."""

    second: int
    requests: int = 0  # admitted
    tokens: int = 0  # of those: prompt and answer
    refused: int = 0  # told 429


@dataclass(frozen=True)
class Tally:
    """Every second in which a call came, and the most that any minute, wherever it began, was asked for."""

    seconds: tuple[Second, ...]
    most_requests: int
    most_tokens: int

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        seconds = [[one.second, one.requests, one.tokens, one.refused] for one in self.seconds]
        return {"seconds": seconds, "most_requests": self.most_requests, "most_tokens": self.most_tokens}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Self:
        """From what `to_json` wrote."""
        seconds = tuple(Second(*numbers) for numbers in told["seconds"])
        return cls(seconds, told["most_requests"], told["most_tokens"])


class Turnstile:
    """Counts whoever comes, let in or not."""

    def __init__(self, minute: float) -> None:
        self._minute = minute
        self._seconds: list[Second] = []
        self._window: deque[tuple[float, int]] = deque()  # of the last minute: when, and how many tokens
        self._tokens = 0
        self._most_requests = 0
        self._most_tokens = 0

    def count(self, tokens: int, now: float, *, admitted: bool) -> None:
        """A call that came now. One that is refused was asked for, too: it was one too many for its minute."""
        if not self._seconds or self._seconds[-1].second != int(now):
            self._seconds.append(Second(int(now)))
        second = self._seconds[-1]
        if admitted:
            second.requests += 1
            second.tokens += tokens
        else:
            second.refused += 1
        self._window.append((now, tokens))
        self._tokens += tokens
        while self._window[0][0] <= now - self._minute:
            self._tokens -= self._window.popleft()[1]
        self._most_requests = max(self._most_requests, len(self._window))
        self._most_tokens = max(self._most_tokens, self._tokens)

    def tally(self) -> Tally:
        """Up to now."""
        return Tally(tuple(self._seconds), self._most_requests, self._most_tokens)
