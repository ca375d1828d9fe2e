"""The entry point of the `tamis` command. The rest of the command line is an extra, and may not be installed."""

import gc
import sys

from tamis_schemas import ConfigurationError
from tamis_schemas.extras import needs

EXIT_WRONG_USE = 2  # as in `commands.app`, which cannot be imported without the extra


def main() -> None:
    """Run the command line. If its extra is not installed, print an error, and exit with `EXIT_WRONG_USE`."""
    gc.disable()  # until all imports are done: collections during imports take a third of a short command's CPU
    try:
        with needs("cli"):
            from .commands.app import run
    except ConfigurationError as missing:
        sys.stderr.write(f"tamis: {missing}\n")
        sys.exit(EXIT_WRONG_USE)
    run()
