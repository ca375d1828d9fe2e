"""Puts the wall clock of a Python process ahead, by the seconds of SHIFTED_CLOCK; the monotonic clock goes on as ever.

Python imports a module of this name at its start, before anything else, wherever it stands on its path.
"""

import datetime
import os
import time

_ahead = float(os.environ.get("SHIFTED_CLOCK", "0"))
_time, _time_ns, _Datetime = time.time, time.time_ns, datetime.datetime


class _Shifted(_Datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> "_Shifted":
        return cls.fromtimestamp(_time() + _ahead, tz)

    @classmethod
    def utcnow(cls) -> "_Shifted":
        return cls.now(datetime.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> "_Shifted":
        return cls.now()


if _ahead:
    time.time = lambda: _time() + _ahead
    time.time_ns = lambda: _time_ns() + int(_ahead * 1e9)
    datetime.datetime = _Shifted  # type: ignore[misc] # whoever imports it from here on gets this one
