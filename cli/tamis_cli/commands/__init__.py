"""The commands of `tamis`. The module `app` imports the module of the command that is called."""

from .app import app, run

__all__ = ["app", "run"]
