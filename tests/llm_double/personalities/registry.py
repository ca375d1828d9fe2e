"""The personalities by name."""

from collections.abc import Callable
from functools import partial

from .behaviour import Behaviour
from .expiring_key import ExpiringKey
from .flex_capacity import FlexCapacity
from .ignores_format import IgnoresFormat
from .prefix_cache import PrefixCache
from .strict import Strict
from .talks import Talks

_BEHAVIOURS: dict[str, Callable[..., Behaviour]] = {
    "strict": Strict,
    "ignores_format": IgnoresFormat,
    "talks": Talks,
    "always_talks": partial(Talks, obeys=False),
    "expiring_key": ExpiringKey,
    "flex_capacity": FlexCapacity,
    "prefix_cache": PrefixCache,
}

NAMES = tuple(_BEHAVIOURS)


def behaviour_of(name: str) -> Callable[..., Behaviour]:
    """What makes a behaviour of its parameters. Raises ValueError for a name that is none."""
    if name not in _BEHAVIOURS:
        raise ValueError(f"no personality is named {name!r}; there are {', '.join(NAMES)}")
    return _BEHAVIOURS[name]
