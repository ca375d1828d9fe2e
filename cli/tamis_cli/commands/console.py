"""The consoles of the commands. They print records and messages safely, even with escape sequences in them."""

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
        """Print tables as the library rich does, but texts without added line breaks.

        The terminal itself wraps long texts, so people can copy a text as one line.
        """
        super().print(*objects, **({"soft_wrap": all(isinstance(text, str) for text in objects)} | options))

    def say(self, text: str, *, markup: bool = True) -> None:
        """Print a sentence. If `markup` is False, square brackets are ordinary text."""
        self.print(text, markup=markup)

    def on_broken_pipe(self) -> NoReturn:
        """End the command without an error. Rich calls this method if nothing reads the output any more."""
        end_unread()

    def render_str(self, text: str, **options: Any) -> Text:  # rich calls it for every printed text, also in tables
        """Render a text as rich does, with U+FFFD for each control character."""
        return super().render_str(printable(text), **options)


out = PlainConsole()
err = PlainConsole(stderr=True)


def end_unread() -> NoReturn:
    """End the command without an error, because nothing reads its output, as after `tamis results ID | head -1`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python still writes at its exit
    raise SystemExit
