"""When a part that ended by itself is started again, and how its end is told."""

import signal

from tamis_schemas.shared_library import missing_library
from tamis_worker.liveness.watchdog import EXIT_STALLED

FIRST_DELAY = 0.5  # seconds
LONGEST_DELAY = 30.0  # seconds
STEADY = 60.0  # seconds: whoever ran for so long is not counted as failing again and again


def restart_delay(failures: int) -> float:
    """Seconds to wait after the given number of ends in a row: 0.5, 1, 2, 4, ... up to 30; 1 is the first end."""
    return float(min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(failures - 1, 16)))


def failures_in_a_row(before: int, ran_for: float) -> int:
    """The count after one more end: it begins anew where the part had run steadily."""
    return 1 if ran_for >= STEADY else before + 1


def how_it_ended(returncode: int) -> str:
    """A process's end in words."""
    if returncode == EXIT_STALLED:
        return f"made no progress and ended itself with status {EXIT_STALLED}"
    if returncode >= 0:
        return f"ended with status {returncode}"
    try:
        return f"was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"


def why_not_run(written: str, returncode: int) -> str:
    """The reason why a program ended at once: the library that it lacks, else its last line, else how it ended."""
    lines = written.strip().splitlines()
    return missing_library(written) or (lines[-1] if lines else f"it {how_it_ended(returncode)}")
