"""The console, which prints text from other sources safely, even if the text contains escape sequences."""

import os
import sys
from typing import Any, NoReturn

from rich.console import Console
from rich.text import Text

from tamis_schemas.values.printable import printable


class PlainConsole(Console):
    """A console that makes escape sequences in titles, errors and file names harmless. Callers escape markup."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print tables as the library rich does. Add no line breaks to other texts.

        The terminal itself wraps long lines, so people can copy a text as one line.
        """
        super().print(*objects, **({"soft_wrap": all(isinstance(text, str) for text in objects)} | options))

    def say(self, text: str, *, markup: bool = True) -> None:
        """Print a sentence. If `markup` is False, square brackets are ordinary text."""
        self.print(text, markup=markup)

    def on_broken_pipe(self) -> NoReturn:
        """End the command quietly. Rich calls this method if the output is no longer read."""
        end_unread()

    def render_str(self, text: str, **options: Any) -> Text:  # every printed text, in tables too
        """Render a text as rich does, with U+FFFD for each control character."""
        return super().render_str(printable(text), **options)


out = PlainConsole()
err = PlainConsole(stderr=True)


def end_unread() -> NoReturn:
    """End the command quietly, because its output is no longer read: `tamis results ID | head -1`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python still writes at its exit
    raise SystemExit
