"""Run the command `tamis` for `python -m tamis_cli`."""

from .start import main

main()
