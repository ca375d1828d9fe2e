"""The double's rate limits: buckets that refill all the time, as OpenAI's do, and what their headers say."""

from dataclasses import dataclass


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


@dataclass(frozen=True)
class Refusal:
    """The limit that a call does not fit into."""

    resource: str  # "requests" or "tokens"
    limit: int
    asked: int
    wait: float | None  # seconds; None where waiting does not help, or nobody says how long


class Limits:
    """Requests and tokens per minute; None is no limit."""

    def __init__(self, rpm: int | None, tpm: int | None, minute: float, now: float) -> None:
        self._buckets = {
            name: Bucket(limit, minute, now)
            for name, limit in (("requests", rpm), ("tokens", tpm))
            if limit is not None
        }

    def admit(self, tokens: int, now: float) -> Refusal | None:
        """Take one request and its tokens where both are there; else take nothing and say what is missing."""
        units = {"requests": 1, "tokens": tokens}
        for name, bucket in self._buckets.items():
            wait = bucket.wait(units[name], now)
            if wait > 1e-9:
                return Refusal(name, bucket.limit, units[name], wait if units[name] <= bucket.limit else None)
        for name, bucket in self._buckets.items():
            bucket.take(units[name], now)
        return None

    def headers(self, now: float) -> dict[str, str]:
        """The x-ratelimit-* headers."""
        found = {}
        for name, bucket in self._buckets.items():
            found[f"x-ratelimit-limit-{name}"] = str(bucket.limit)
            found[f"x-ratelimit-remaining-{name}"] = str(max(0, int(bucket.level(now) + 1e-9)))
            found[f"x-ratelimit-reset-{name}"] = duration(bucket.reset(now))
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
