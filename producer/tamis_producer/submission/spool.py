"""A spool: values in the order in which they come, more of them than memory holds.

What is small stays in memory; the rest lies in a file without a name, in the folder for temporary files (`TMPDIR`),
which is gone with the process however that ends.
"""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Generic, Self, TypeVar

from tamis_schemas import ConfigurationError

from ..process.waiting import ON_THREAD, Waiting

AT_ONCE = 500  # values that are written and read together
LARGEST_PIECE = 1_000_000  # characters; then fewer are
IN_MEMORY = 1_000_000  # bytes, beyond which it is a file: what is written at once, an event loop waits for

T = TypeVar("T")


class Spool(Generic[T]):
    """Values that are added, and then read as often as needed; for one thread at a time.

    As a context manager it is closed at the end, else when nobody holds it any more.
    """

    def __init__(self, waiting: Waiting = ON_THREAD) -> None:
        """`waiting`: how its readers wait; on an event loop others have their turn between two values."""
        self._waiting = waiting
        self._file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - closed in `close`
        self._last: list[T] = []
        self._last_size = 0
        self._written = 0
        self._end = 0

    def append(self, value: T, size: int) -> None:
        """Add a value of about so many characters.

        Raises `ConfigurationError`: the folder for temporary files cannot take it.
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
        """Every value from the first one; several readers may take turns."""
        return self._waiting.in_turns(self._read())

    def _read(self) -> Iterator[T]:
        place = 0
        while place < self._end:
            self._file.seek(place)
            piece: list[T] = pickle.load(self._file)  # noqa: S301 - what this process wrote, where nobody else can
            place = self._file.tell()
            yield from piece
        yield from self._last

    def close(self) -> None:
        """Give memory and disk back; nothing can be read afterwards."""
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
            f"{gettempdir()} keeps the items of a large batch until they are in the ledger, and it takes no more "
            f"({error.strerror}): make room, or name another folder by TMPDIR"
        ) from error
