"""An endpoint with limits of its own, as seen by those who call it."""

from collections import deque
from dataclasses import dataclass, replace
from typing import Literal

from llm_double.limits import Limits, Meter
from tamis_worker.limiter.rate_headers import RateHeaders

MINUTE = 60.0
Kind = Literal["sliding", "bucket", "fixed"]


@dataclass(frozen=True)
class Refused:
    """A 429."""

    retry_after: float | None


class FixedWindow:
    """So many units from one full minute to the next."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._minute = -1
        self._used = 0

    def level(self, now: float) -> float:
        if int(now // MINUTE) != self._minute:
            self._minute, self._used = int(now // MINUTE), 0
        return self.limit - self._used

    def wait(self, units: int, now: float) -> float:
        return 0.0 if self.level(now) >= units else self.reset(now)

    def take(self, units: int, now: float) -> None:
        self.level(now)
        self._used += units

    def reset(self, now: float) -> float:
        return MINUTE - now % MINUTE


class Endpoint:
    """Counts requests and tokens, refuses what is too much, and tells what is left with each answer."""

    def __init__(self, kind: Kind, *, rpm: int | None, tpm: int | None, now: float) -> None:
        self._meters: dict[str, Meter] = {}
        if kind == "fixed":
            self._meters = {
                name: FixedWindow(limit) for name, limit in (("requests", rpm), ("tokens", tpm)) if limit is not None
            }
        else:
            self._meters = Limits(rpm, tpm, MINUTE, now, sliding=kind == "sliding")._meters
        self.storm_until = -1.0
        self.storm_retry_after: float | None = None
        self.refused: deque[float] = deque()

    def answer(self, tokens: int, now: float) -> RateHeaders | Refused:
        """To a call that comes now."""
        if now < self.storm_until:
            self.refused.append(now)
            return Refused(self.storm_retry_after)
        units = {"requests": 1, "tokens": tokens}
        waits = [meter.wait(units[name], now) for name, meter in self._meters.items()]
        if waits and max(waits) > 1e-9:
            self.refused.append(now)
            return Refused(max(waits))
        for name, meter in self._meters.items():
            meter.take(units[name], now)
        return self.headers(now)

    def headers(self, now: float) -> RateHeaders:
        """What is left."""
        said = RateHeaders()
        if (meter := self._meters.get("requests")) is not None:
            said = replace(
                said,
                limit_requests=meter.limit,
                remaining_requests=int(meter.level(now)),
                reset_requests=meter.reset(now),
            )
        if (meter := self._meters.get("tokens")) is not None:
            said = replace(
                said,
                limit_tokens=meter.limit,
                remaining_tokens=int(meter.level(now)),
                reset_tokens=meter.reset(now),
            )
        return said
