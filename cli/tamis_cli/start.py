"""The `tamis` command before its first import. The command line is an extra of the package, and may be missing."""

import gc
import sys

from tamis_schemas import ConfigurationError
from tamis_schemas.extras import needs

EXIT_WRONG_USE = 2  # as in the command line's own list, which may be missing


def main() -> None:
    """Run the command line. If its extra is not installed, print a line about it, and exit with code 2."""
    gc.disable()  # until all imports are done: searching them for garbage takes a third of a short command's CPU
    try:
        with needs("cli"):
            from .commands.app import run
    except ConfigurationError as missing:
        sys.stderr.write(f"tamis: {missing}\n")
        sys.exit(EXIT_WRONG_USE)
    run()
