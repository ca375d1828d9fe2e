"""Optional parts: the error where one is not installed names the extra that brings it."""

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import ConfigurationError
from .shared_library import missing_library


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Around the import of what an extra brings.

    Raises:
        ConfigurationError: it is not installed, and the message names the extra; or a native library that it needs is
            missing, and the message names that.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tamis"):
            raise
        raise ConfigurationError(
            f"this needs the extra {extra!r}: pip install 'tamis[{extra}]' ({error.name!r} is missing)"
        ) from error
    except ImportError as error:
        if (library := missing_library(str(error))) is None:
            raise
        raise ConfigurationError(f"the extra {extra!r} is installed and does not load: {library}") from error
