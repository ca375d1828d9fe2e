"""Optional parts: the error for a missing part names the extra that installs it."""

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import ConfigurationError
from .shared_library import missing_library


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Turn the failed import of an extra's package into a clear error.

    Raises:
        ConfigurationError: the extra is not installed, or a native library is missing. The message names the extra.
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
        raise ConfigurationError(f"the extra {extra!r} is installed but does not load: {library}") from error
