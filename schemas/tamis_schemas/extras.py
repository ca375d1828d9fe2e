"""Optional parts: whoever needs one that is not installed is told which extra brings it."""

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import ConfigurationError


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Around the import of what an extra brings. Raises `ConfigurationError` naming the extra where it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tamis"):
            raise
        raise ConfigurationError(
            f"this needs the extra {extra!r}: pip install 'tamis[{extra}]' ({error.name!r} is missing)"
        ) from error
