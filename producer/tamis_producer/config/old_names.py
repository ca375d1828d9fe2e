"""Settings whose names have changed: the old ones go on working for one release, with a warning."""

import logging
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeVar

from tamis_schemas import ConfigurationError

log = logging.getLogger(__name__)

RENAMED = {  # what it was called -> what it is called
    "lease": "lease_seconds",
    "sweep": "sweep_interval",
    "stalled_after": "stalled_after_seconds",
    "follow": "pause_check_interval",
    "wait_at_most": "http_wait_seconds",
    "window": "shard_window",
}

Value = TypeVar("Value")


def under_new_names(values: Mapping[str, Value], written: Callable[[str], str] = str) -> dict[str, Value]:
    """Return the values of settings by their names of today; an old name is warned of once in a process.

    Args:
        values: by their names, old or new.
        written: how users write a name, such as its environment variable.

    Raises:
        ConfigurationError: naming both, where an old name and the new one have different values.
    """
    renamed = {name: value for name, value in values.items() if name not in RENAMED}
    for old, new in RENAMED.items():
        if old in values:
            if renamed.setdefault(new, values[old]) != values[old]:
                raise ConfigurationError(
                    f"{written(old)} is the old name of {written(new)}, and their values differ: remove {written(old)}"
                )
            _warn(written(old), written(new))
    return renamed


@cache
def _warn(old: str, new: str) -> None:
    log.warning("%s is called %s now; the old name works for one more release", old, new)
