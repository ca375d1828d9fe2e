"""The `tamis` command: a module per command, assembled by `app`."""

from .app import app, run

__all__ = ["app", "run"]
