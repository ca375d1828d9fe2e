"""Optional parts: a command says which extra it needs, where that is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

from tamis_schemas import ConfigurationError


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Around the import of what an extra brings. Raises `ConfigurationError` naming the extra where it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tamis"):
            raise
        raise ConfigurationError(
            f"this command needs the extra {extra!r}: pip install 'tamis[{extra}]' ({error.name!r} is missing)"
        ) from error
