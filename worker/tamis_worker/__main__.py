"""`python -m tamis_worker` is `tamis`."""

from .cli.main import main

main()
