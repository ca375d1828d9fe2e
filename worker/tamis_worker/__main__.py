"""`python -m tamis_worker` is `tamis`."""

from .start import main

main()
