"""The limits that an endpoint reports in `x-ratelimit-*` headers, as OpenAI and many others send them.

| header | meaning |
|---|---|
| `x-ratelimit-limit-requests`, `-tokens` | limit of a window |
| `x-ratelimit-remaining-requests`, `-tokens` | remaining part of the limit |
| `x-ratelimit-reset-requests`, `-tokens` | time until all is free: `17ms`, `6.5s`, `1m30s`, `2h0m5s`, plain seconds |

Unreadable values become None. Similar headers for other quantities are ignored.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

LONGEST_RESET = 31 * 86_400.0  # seconds; a larger number is a point in time, not a duration
MOST = 10**12  # a larger count means "no limit"

_DURATION = re.compile(
    r"(?:(?P<d>\d+)d)?(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>\d+(?:\.\d+)?)s)?(?:(?P<ms>\d+(?:\.\d+)?)ms)?",
    re.ASCII,
)
_SECONDS_OF = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


@dataclass(frozen=True, slots=True)
class RateHeaders:
    """The rate limits on requests and tokens that one answer reports. None: not reported, or unreadable."""

    limit_requests: int | None = None
    remaining_requests: int | None = None
    reset_requests: float | None = None  # seconds
    limit_tokens: int | None = None
    remaining_tokens: int | None = None
    reset_tokens: float | None = None  # seconds


def read_rate_headers(headers: Mapping[str, str]) -> RateHeaders | None:
    """Return the rate limits in the headers; None if there are none. Names must be lower-case or case-insensitive."""
    get = headers.get
    limit_requests, remaining_requests = get("x-ratelimit-limit-requests"), get("x-ratelimit-remaining-requests")
    limit_tokens, remaining_tokens = get("x-ratelimit-limit-tokens"), get("x-ratelimit-remaining-tokens")
    if limit_requests is remaining_requests is limit_tokens is remaining_tokens is None:
        return None
    return RateHeaders(
        _count(limit_requests, least=1),
        _count(remaining_requests, least=0),
        duration(get("x-ratelimit-reset-requests")),
        _count(limit_tokens, least=1),
        _count(remaining_tokens, least=0),
        duration(get("x-ratelimit-reset-tokens")),
    )


def duration(text: str | None) -> float | None:
    """Return the seconds of a duration such as `17ms`, `6.5s` or `1m30s`; None if the text is not such a duration."""
    if not text or not text.isascii():
        return None
    number, unit = (text[:-2], 0.001) if text.endswith("ms") else (text.removesuffix("s"), 1.0)
    try:  # one unit or none, as nearly always; the pattern takes three times as long
        seconds = float(number) * unit
    except ValueError:
        match = _DURATION.fullmatch(text.strip())
        if match is None or match.lastgroup is None:
            return None
        seconds = sum(float(value) * _SECONDS_OF[unit] for unit, value in match.groupdict().items() if value)
    return seconds if 0 <= seconds <= LONGEST_RESET else None


def _count(text: str | None, *, least: int) -> int | None:
    if text is None:
        return None
    try:
        count = int(text)
    except ValueError:
        return None
    return count if least <= count <= MOST else None
