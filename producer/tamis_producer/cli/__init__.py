"""The `tamis` command, as far as a producer goes: submit, watch, read.

Exit codes: 0 every item decided, 1 some items failed or the batch was paused because it could not go on, 2 wrong use or
configuration or a server that does not answer, 130 interrupted (the batch goes on).
"""

from .app import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_WRONG_USE, app, run

__all__ = ["EXIT_FAILED", "EXIT_INTERRUPTED", "EXIT_OK", "EXIT_WRONG_USE", "app", "run"]
