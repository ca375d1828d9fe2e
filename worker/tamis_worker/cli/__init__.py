"""The `tamis` command, as far as a producer goes: submit, watch, read.

`exit_codes.py` says what each exit code means.
"""

from .app import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_WRONG_USE, app, run

__all__ = ["EXIT_FAILED", "EXIT_INTERRUPTED", "EXIT_OK", "EXIT_WRONG_USE", "app", "run"]
