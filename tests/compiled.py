"""Bytecode of the tests and of the system: compiled once on a machine, and not once a process.

A shell that keeps Python from writing it (PYTHONDONTWRITEBYTECODE) would have every process of a run compile the whole
system again, and rewrite the assertions of all tests: more than half of what their collection takes. To import this
module, before any other of the tests, is enough.
"""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TESTS = Path(__file__).parent
VARIABLE = "PYTHONDONTWRITEBYTECODE"

sys.dont_write_bytecode = False
os.environ.pop(VARIABLE, None)


def is_cold(tests: Path = TESTS) -> bool:
    """Whether the last of all files of tests was never collected here."""
    last = max(tests.rglob("test_*.py"))
    return not any((last.parent / "__pycache__").glob(f"{last.stem}.*-pytest-*"))


@contextmanager
def first_alone(tests: Path = TESTS) -> Iterator[None]:
    """Let the first of several processes collect alone as long as nothing is compiled: the others find its work."""
    folder = tests / "__pycache__"
    folder.mkdir(exist_ok=True)
    with (folder / "collecting").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_cold(tests):
            fcntl.flock(lock, fcntl.LOCK_UN)
        yield
