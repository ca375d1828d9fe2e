"""The console: shows foreign text as text, whatever escape sequences stand in it."""

from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from tamis_schemas.values.printable import printable


class PlainConsole(Console):
    """A console to which titles, errors and file names can do nothing. Markup is still the caller's to escape."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, **options)

    def say(self, text: str, *, markup: bool = True) -> None:
        """Print a sentence, which the terminal wraps and whoever copies it finds whole."""
        self.print(text, markup=markup, soft_wrap=True)

    def render_str(self, text: str, **options: Any) -> Text:  # every text that is printed, in tables too
        """Render what is printable in the text, as rich does."""
        return super().render_str(printable(text), **options)


class PrintableStream:
    """A terminal for text that is data: what would steer it is shown as U+FFFD."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what is printable in the text."""
        return self._stream.write(printable(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def for_data(stream: TextIO) -> Any:
    """The stream itself where it is a file or a pipe, which take text as it is; guarded where it is a terminal."""
    return PrintableStream(stream) if stream.isatty() else stream
