"""The exit codes of `tamis`, and what each says: the one place where they stand."""

from collections.abc import Mapping
from types import MappingProxyType

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_WRONG_USE = 2
EXIT_STALLED = 75  # as sysexits has it: a temporary failure, try again
EXIT_INTERRUPTED = 130  # as shells count it: 128 + SIGINT

EXIT_CODES: Mapping[int, str] = MappingProxyType(
    {
        EXIT_OK: "done; of a batch or a review: every item is decided",
        EXIT_FAILED: "some items failed or were cancelled, the batch was paused because it could not go on, a probe or "
        "an examination found something wrong, or a question was answered with no",
        EXIT_WRONG_USE: "wrong use or configuration, or a server that does not answer",
        EXIT_STALLED: "a worker made no progress and ended itself: start it again",
        EXIT_INTERRUPTED: "interrupted with Ctrl-C; a batch or a review goes on",
    }
)
