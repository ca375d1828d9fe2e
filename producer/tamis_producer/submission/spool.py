"""A spool: values in order of arrival, even if there are more than memory holds.

Small spools stay in memory. Larger spools use a nameless file in the folder for temporary files (`TMPDIR`). The file
vanishes with the process.
"""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Generic, Self, TypeVar

from tamis_schemas import ConfigurationError

from ..process.waiting import ON_THREAD, Waiting

AT_ONCE = 500  # values written and read together
LARGEST_PIECE = 1_000_000  # characters, above which a piece has fewer values
IN_MEMORY = 1_000_000  # bytes; a larger spool is a file. An event loop waits while so many bytes are written

T = TypeVar("T")


class Spool(Generic[T]):
    """Values that are added, and then read as often as needed. Only one thread may use a spool at a time.

    A spool can be a context manager, which closes the spool at the end of the block. Otherwise garbage collection
    closes the spool.
    """

    def __init__(self, waiting: Waiting = ON_THREAD) -> None:
        """Make an empty spool. `waiting` lets an event loop do other work between two values that are read."""
        self._waiting = waiting
        self._file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - closed in `close`
        self._last: list[T] = []
        self._last_size = 0
        self._written = 0
        self._end = 0

    def append(self, value: T, size: int) -> None:
        """Add a value of about `size` characters.

        Raises `ConfigurationError` if the value cannot be written to the folder for temporary files.
        """
        self._last.append(value)
        self._last_size += size
        if len(self._last) >= AT_ONCE or self._last_size >= LARGEST_PIECE:
            with _room():
                self._file.seek(self._end)
                pickle.dump(self._last, self._file, pickle.HIGHEST_PROTOCOL)
                self._end = self._file.tell()
            self._written += len(self._last)
            self._last, self._last_size = [], 0

    def __len__(self) -> int:
        return self._written + len(self._last)

    def __iter__(self) -> Iterator[T]:
        """Yield every value, beginning with the first. Several readers may alternate."""
        return self._waiting.in_turns(self._read())

    def _read(self) -> Iterator[T]:
        place = 0
        while place < self._end:
            self._file.seek(place)
            piece: list[T] = pickle.load(self._file)  # noqa: S301 - written by this process, in a file without a name
            place = self._file.tell()
            yield from piece
        yield from self._last

    def close(self) -> None:
        """Release memory and disk; nothing can be read afterwards."""
        self._file.close()
        self._last = []

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"the temporary folder {gettempdir()} cannot store the items of a large batch "
            f"({error.strerror}): free some space, or set TMPDIR to another folder"
        ) from error
