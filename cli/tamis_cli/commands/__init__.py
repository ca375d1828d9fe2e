"""The `tamis` command: each command in a module of its own, put together by `app`."""

from .app import app, run

__all__ = ["app", "run"]
