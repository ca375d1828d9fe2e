"""The double's rate limits, and what their headers say.

Buckets that refill all the time, as OpenAI's do; or windows that slide, for which no minute, wherever it begins, may
hold more than the limit.
"""

from collections import deque
from dataclasses import dataclass
from typing import Protocol

MOMENT = 1e-6  # seconds: the least that a window waits, whatever the rounding of times leaves


class Meter(Protocol):
    """So many units a minute."""

    limit: int

    def level(self, now: float) -> float:
        """Units left."""

    def wait(self, units: int, now: float) -> float:
        """Seconds until so many units are there; 0.0 where they are."""

    def take(self, units: int, now: float) -> None:
        """Take units."""

    def reset(self, now: float) -> float:
        """Seconds until it is full again."""


class Bucket:
    """So many units a minute; full at the start."""

    def __init__(self, limit: int, minute: float, now: float) -> None:
        self.limit = limit
        self._rate = limit / minute
        self._level = float(limit)
        self._at = now

    def level(self, now: float) -> float:
        """Units left."""
        self._level = min(self.limit, self._level + (now - self._at) * self._rate)
        self._at = now
        return self._level

    def wait(self, units: int, now: float) -> float:
        """Seconds until so many units are there; 0.0 where they are."""
        return max(0.0, (units - self.level(now)) / self._rate)

    def take(self, units: int, now: float) -> None:
        """Take units."""
        self._level = self.level(now) - units

    def reset(self, now: float) -> float:
        """Seconds until it is full again."""
        return (self.limit - self.level(now)) / self._rate


class Window:
    """No minute that ends now or later holds more than so many units."""

    def __init__(self, limit: int, minute: float) -> None:
        self.limit = limit
        self._minute = minute
        self._taken: deque[tuple[float, int]] = deque()  # when, and how many
        self._used = 0

    def level(self, now: float) -> float:
        """Units left."""
        while self._taken and self._taken[0][0] <= now - self._minute:
            self._used -= self._taken.popleft()[1]
        return self.limit - self._used

    def wait(self, units: int, now: float) -> float:
        """Seconds until so many units are there; 0.0 where they are."""
        missing = units - self.level(now)
        if missing <= 0:
            return 0.0
        for at, taken in self._taken:
            missing -= taken
            if missing <= 0:
                return max(MOMENT, at + self._minute - now)
        return self._minute  # more than the limit: nobody waits for that

    def take(self, units: int, now: float) -> None:
        """Take units."""
        self._taken.append((now, units))
        self._used += units

    def reset(self, now: float) -> float:
        """Seconds until it is full again."""
        return self._taken[-1][0] + self._minute - now if self.level(now) < self.limit else 0.0


@dataclass(frozen=True)
class Refusal:
    """The limit that a call does not fit into."""

    resource: str  # "requests" or "tokens"
    limit: int
    asked: int
    wait: float | None  # seconds; None where waiting does not help, or nobody says how long


class Limits:
    """Requests and tokens per minute; None is no limit."""

    def __init__(self, rpm: int | None, tpm: int | None, minute: float, now: float, *, sliding: bool = False) -> None:
        self._meters: dict[str, Meter] = {
            name: Window(limit, minute) if sliding else Bucket(limit, minute, now)
            for name, limit in (("requests", rpm), ("tokens", tpm))
            if limit is not None
        }

    def admit(self, tokens: int, now: float) -> Refusal | None:
        """Take one request and its tokens where both are there; else take nothing and say what is missing."""
        if not self._meters:
            return None
        units = {"requests": 1, "tokens": tokens}
        for name, meter in self._meters.items():
            wait = meter.wait(units[name], now)
            if wait > 1e-9:
                return Refusal(name, meter.limit, units[name], wait if units[name] <= meter.limit else None)
        for name, meter in self._meters.items():
            meter.take(units[name], now)
        return None

    def headers(self, now: float) -> dict[str, str]:
        """The x-ratelimit-* headers."""
        found: dict[str, str] = {}
        for name, meter in self._meters.items():
            found[f"x-ratelimit-limit-{name}"] = str(meter.limit)
            found[f"x-ratelimit-remaining-{name}"] = str(max(0, int(meter.level(now) + 1e-9)))
            found[f"x-ratelimit-reset-{name}"] = duration(meter.reset(now))
        return found


def duration(seconds: float) -> str:
    """As OpenAI writes it: 17ms, 6.5s, 1m30s, 2h0m5s."""
    seconds = round(seconds, 3)
    if seconds < 1:
        return f"{round(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{rest:g}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
