"""The `tamis` command before its first import: the command line itself is an extra, and may not be there."""

import gc
import sys

from tamis_schemas import ConfigurationError
from tamis_schemas.extras import needs

EXIT_WRONG_USE = 2  # as in the command line's own list, which is part of what may be missing


def main() -> None:
    """Run the command line; one clear line and exit code 2 where only the base of Tamis is installed."""
    gc.disable()  # until all is imported: to search that for garbage takes a third of the CPU of a short command
    try:
        with needs("cli"):
            from .commands.app import run
    except ConfigurationError as missing:
        sys.stderr.write(f"tamis: {missing}\n")
        sys.exit(EXIT_WRONG_USE)
    run()
