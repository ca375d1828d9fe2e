"""`python -m tamis_cli` is `tamis`."""

from .start import main

main()
