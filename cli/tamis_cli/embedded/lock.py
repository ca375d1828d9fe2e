"""The lock of a home folder: one stack at a time runs from it."""

import fcntl
import os
from pathlib import Path
from typing import IO

from tamis_schemas import ConfigurationError


class HomeLock:
    """Held by an open file, so that it vanishes with the process, however that ends."""

    def __init__(self, home: Path) -> None:
        self.path = home / "lock"
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock. Raises `ConfigurationError` naming the process that has it."""
        try:
            file = self.path.open("a+", encoding="ascii")
        except OSError as error:
            raise ConfigurationError(
                f"{self.path} cannot be opened ({error}): is it another user's? Name another folder with TAMIS_HOME"
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            file.close()
            raise ConfigurationError(
                f"a stack is running from {str(self.path.parent)!r} already (process {owner}): use that one, stop it "
                "with Ctrl-C in its terminal, or name another folder with TAMIS_HOME"
            ) from error
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        self._file = file

    def release(self) -> None:
        """Give the lock back, where it is held."""
        if self._file is not None:
            self._file.close()  # the file stays: removing it would let two processes lock two files of one name
            self._file = None
