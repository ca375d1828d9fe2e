"""`python -m tamis_worker` is `tamis`."""

from .cli import main

main()
